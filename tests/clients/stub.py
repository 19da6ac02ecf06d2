"""The model that the clients talk to: a server on the loopback device that plays what a prompt names.

A prompt that says `play:NAME` makes the model call the tools that `plays[NAME]` lists, one after another, and then
say that it is done with that name. A function in the list is called while the client waits for the call that follows.
The results that the conversation already holds show which call is next, so the server keeps no state for it, and a
helper's conversation is served beside its parent's. Four protocols are spoken, each as far as its client needs it.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARK = re.compile(r"\bplay:([a-z-]+)")


def texts(value):
    """Yields every text in `value`, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def position(items, said, result):
    """Returns the name of the play that was asked for last, and how many results followed; none if nothing was asked.

    `said` returns what a user said in an item, `result` returns how many results of tools an item holds.
    """
    name, count = None, 0
    for item in items:
        marks = [mark for text in texts(said(item)) for mark in MARK.findall(text)]
        if marks:
            # Results in the same item are those of calls that were cut short before.
            name, count = marks[-1], 0
        else:
            count += result(item)
    return name, count


def has_tools(body):
    """Returns true if the model may call tools: without them, it is a side question of the client, a title, a summary."""
    return bool(body.get("tools"))


class Responses:
    """The Responses API, as Codex uses it."""

    path = "/responses"

    @staticmethod
    def has_tools(body):
        is_side = body.get("text", {}).get("format") is not None
        return not is_side and (has_tools(body) or Responses.has_code(body))

    @staticmethod
    def has_code(body):
        """Returns true if the model calls its tools by a script, as newer ones do."""
        return any(item.get("type") == "additional_tools" for item in body.get("input", []))

    @staticmethod
    def position(body):
        def said(item):
            is_asked = item.get("role") == "user" or item.get("type") == "agent_message"
            return item.get("content") if is_asked else None

        return position(body.get("input", []), said, lambda item: item.get("type", "").endswith("_call_output"))

    @staticmethod
    def answer(body, index, call, text):
        ident = f"r{time.time_ns()}"
        if call is None:
            content = [{"type": "output_text", "text": text}]
            item = {"type": "message", "role": "assistant", "id": f"m{ident}", "content": content}
        elif Responses.has_code(body):
            item = {"type": "custom_tool_call", "call_id": f"call_{ident}_{index}", "name": "exec"}
            item["input"] = f"text(await tools.{call[0]}({json.dumps(call[1])}));"
        elif isinstance(call[1], str):
            item = {"type": "custom_tool_call", "call_id": f"call_{ident}_{index}", "name": call[0], "input": call[1]}
        else:
            arguments = json.dumps(call[1])
            item = {"type": "function_call", "call_id": f"call_{ident}_{index}", "name": call[0]}
            item["arguments"] = arguments
            if len(call) > 2:
                item["namespace"] = call[2]
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
        usage["total_tokens"] = 2
        return [
            {"type": "response.created", "response": {"id": ident}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": ident, "usage": usage}},
        ]

    @staticmethod
    def whole(path, body, events):
        return None


class Gemini:
    """`generateContent` of the Gemini API."""

    path = "enerateContent"
    has_tools = staticmethod(has_tools)

    @staticmethod
    def position(body):
        def said(item):
            return item.get("parts") if item.get("role") == "user" else None

        def results(item):
            return sum("functionResponse" in part for part in item.get("parts", []))

        return position(body.get("contents", []), said, results)

    @staticmethod
    def answer(body, index, call, text):
        part = {"text": text} if call is None else {"functionCall": {"name": call[0], "args": call[1]}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return [{"candidates": [candidate], "usageMetadata": usage}]

    @staticmethod
    def whole(path, body, events):
        return events[0] if path.endswith(":generateContent") else None


class Messages:
    """The Messages API, as Claude Code and opencode use it."""

    path = "/messages"
    has_tools = staticmethod(has_tools)

    @staticmethod
    def position(body):
        def blocks(item):
            content = item.get("content")
            return content if isinstance(content, list) else [{"type": "text", "text": content}]

        def said(item):
            return [block.get("text") for block in blocks(item)] if item.get("role") == "user" else None

        def results(item):
            return sum(block.get("type") == "tool_result" for block in blocks(item))

        return position(body.get("messages", []), said, results)

    @staticmethod
    def answer(body, index, call, text):
        ident = f"{time.time_ns()}"
        if call is None:
            begun, reason = {"type": "text", "text": ""}, "end_turn"
            delta = {"type": "text_delta", "text": text}
        else:
            begun = {"type": "tool_use", "id": f"toolu_{ident}", "name": call[0], "input": {}}
            delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}, "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{ident}", "type": "message", "role": "assistant", "model": body.get("model")}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]

    @staticmethod
    def whole(path, body, events):
        # It is asked at once whether a model is there.
        content = [{"type": "text", "text": "Done."}]
        return None if body.get("stream") else events[0]["message"] | {"content": content, "stop_reason": "end_turn"}


PROTOCOLS = [Responses, Gemini, Messages]


class Stub:
    """The server. `plays` may be filled while it runs; `log` receives a line for each request.

    `heard` has what a client has sent last in a conversation about a play, `count` is how many such requests came.
    """

    def __init__(self, log):
        self.plays, self.heard, self.count = {}, {}, 0
        self.log = log
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                stub.note(self.path, "nothing to tell")
                self.send(200, "application/json", b'{"models":[],"data":[]}')

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    stub.serve(self, json.loads(body or b"{}"))
                except (BrokenPipeError, ConnectionResetError):
                    stub.note(self.path, "the client is gone")

            def send(self, status, kind, data):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next_call(self, name, index):
        """Returns the call at `index` of a play, after the steps before it; none after the last call."""
        for step in self.plays.get(name, []):
            if callable(step):
                if index == 0:
                    step()
            elif index == 0:
                return step
            else:
                index -= 1
        return None

    def note(self, path, text):
        """Writes a line about a request."""
        self.log.write(f"{time.strftime('%H:%M:%S')} {path}: {text}\n")
        self.log.flush()

    def serve(self, handler, body):
        """Answers a request for the model's next words."""
        path = handler.path.split("?")[0]
        protocol = next((protocol for protocol in PROTOCOLS if path.endswith(protocol.path)), None)
        if protocol is None:
            self.note(handler.path, "no answer is known")
            return handler.send(200, "application/json", b"{}")
        name, index = protocol.position(body)
        has_tools = protocol.has_tools(body)
        call = self.next_call(name, index) if has_tools else None
        if name and has_tools:
            self.heard[name] = "\n".join(texts(body))
            self.count += 1
        self.note(handler.path, f"play {name}, call {index}: {'done' if call is None else json.dumps(call)[:300]}")
        events = protocol.answer(body, index, call, f"Done with {name}." if name and has_tools else "Done.")
        whole = protocol.whole(path, body, events)
        if whole is not None:
            return handler.send(200, "application/json", json.dumps(whole).encode())
        out = ""
        for event in events:
            out += f"event: {event['type']}\n" if "type" in event else ""
            out += f"data: {json.dumps(event)}\n\n"
        return handler.send(200, "text/event-stream", out.encode())
