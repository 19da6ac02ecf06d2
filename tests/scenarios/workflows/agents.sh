repository
sh_run 'git checkpoint enable --agent claude-code'
sh_run 'git checkpoint status'
mkdir -p ../home/.gemini .github/hooks
printf '{ // mine\n}\n' >../home/.gemini/settings.json
cksum <../home/.gemini/settings.json >../before
sh_run 'git checkpoint enable --agent gemini --agent copilot --project --dry-run'
sh_run 'git checkpoint enable --agent gemini --agent cline --user'
sh_run 'git checkpoint enable --agent gemini --user'
note 'a mistake'
sh_run 'git checkpoint enable --agent gemeni'
sh_run 'git checkpoint enable --agent gemini --local'
note 'taken back'
sh_run 'git checkpoint disable --agent gemini'
cksum <../home/.gemini/settings.json | diff ../before -
sh_run 'git checkpoint disable'
sh_run 'ls -A . ../home'
