// Opens the page that is named in both themes and two widths; see ../page.sh.
const fs = require('fs');
const { chromium } = require('playwright-core');

const page = 'file://' + process.argv[2];
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const open = () => document.querySelectorAll('details').forEach((it) => { it.open = true; });

async function look(browser, colorScheme, width) {
  const found = [];
  const tab = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
  tab.on('console', (it) => found.push('console: ' + it.text()));
  tab.on('pageerror', (it) => found.push('error: ' + it));
  tab.on('dialog', (it) => { found.push('a script has run: ' + it.message()); it.dismiss(); });
  tab.on('request', (it) => { if (it.url() !== page) found.push('request: ' + it.url()); });
  await tab.goto(page);
  await tab.evaluate(open);
  await tab.waitForTimeout(300);
  if (await tab.evaluate(() => document.documentElement.scrollWidth > innerWidth)) found.push('wider than the screen');
  await tab.close();
  // The page's own policy would keep axe out.
  const context = await browser.newContext({ bypassCSP: true, colorScheme, viewport: { width, height: 900 } });
  const copy = await context.newPage();
  await copy.goto(page);
  await copy.evaluate(open);
  await copy.evaluate(axe);
  const { violations } = await copy.evaluate(() => axe.run());
  violations.forEach((it) => found.push(`axe: ${it.id}: ${it.nodes[0].html.slice(0, 200)}`));
  await context.close();
  return found.map((it) => `${colorScheme}, ${width} pixels: ${it}`);
}

(async () => {
  const quiet = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'];
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: quiet });
  const found = [];
  for (const theme of ['light', 'dark']) for (const width of [390, 1200]) found.push(...await look(browser, theme, width));
  await browser.close();
  found.forEach((it) => console.log(it));
  console.log(found.length ? `${found.length} problems` : 'no problems');
  process.exit(found.length ? 1 : 0);
})();
