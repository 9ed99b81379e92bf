"""A page that shows widgets of a real kernel, as a notebook does, under a strict policy."""

import time
from queue import Empty

PATIENCE_S = 300.0  # a machine may be busy
HOME = "http://notebook.test/"
# What the widget needs of a notebook; JupyterLab allows more.
POLICY = (
    "default-src 'none'; script-src blob:; style-src 'unsafe-inline'; img-src blob:; "
    "frame-src 'self'; connect-src 'none'"
)
# The part of JupyterLab's models that widgets use. A message of the kernel is delivered with
# its content and its buffers.
HOST = """
window.models = {};
window.show = async (id, state) => {
  const listeners = {};
  const model = {
    live: true,
    get: (name) => state[name],
    on: (event, f) => (listeners[event] ??= new Set()).add(f),
    off: (event, f) => listeners[event]?.delete(f),
    send: (content, callbacks, buffers) => {
      if (!model.live) throw new Error("Cannot send");
      window.toKernel(id, content, buffers.map((each) => Array.from(new Uint8Array(each))));
    },
    emit: (event, ...given) => [...listeners[event] ?? []].forEach((f) => f(...given)),
  };
  window.models[id] = model;
  const file = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
  const widget = (await import(file)).default;
  const el = document.createElement("div");
  document.body.append(el);
  const end = await widget.render({ model, el });
  model.remove = () => { el.remove(); end(); };
};
window.deliver = (id, content, buffers) => {
  const views = buffers.map((each) => new DataView(new Uint8Array(each).buffer));
  window.models[id]?.emit("msg:custom", content, views);
};
"""


class KernelPage:
    """A page whose widgets exchange messages with a kernel.

    Attributes
    ----------
    wrong : what went wrong in the page, such as a request to a host or a violation of the policy.
    """

    def __init__(self, browser, client):
        self._client, self._states, self.wrong = client, {}, []
        self._context = browser.new_context(viewport={"width": 1100, "height": 900})
        self.page = self._context.new_page()
        self.page.route(HOME, lambda route: route.fulfill(
            body="<!doctype html><title>notebook</title><body></body>", content_type="text/html",
            headers={"Content-Security-Policy": POLICY}))  # fmt: skip
        self.page.expose_function("toKernel", self._send)
        self.page.goto(HOME)
        self.page.evaluate(f"() => {{{HOST}}}")
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda m: m.type == "error" and self.wrong.append(m.text))
        self.page.on("request", lambda r: r.url.startswith("blob:") or self.wrong.append(r.url))

    def close(self):
        """Close the page."""
        self._context.close()

    def run(self, code):
        """Run a cell; return its last value as text, or show it if it is a widget."""
        number = self._client.execute(code)
        while True:
            message = self._next(PATIENCE_S)
            if message["parent_header"].get("msg_id") != number:
                continue
            content = message["content"]
            if message["msg_type"] == "error":
                raise AssertionError("\n".join(content["traceback"]))
            if message["msg_type"] == "execute_result":
                data = content["data"]
                if "application/vnd.jupyter.widget-view+json" in data:
                    return self._show(data["application/vnd.jupyter.widget-view+json"]["model_id"])
                return data["text/plain"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return None

    def until(self, holds):
        """Pass messages until something holds."""
        late_at = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < late_at, "it does not hold"
            try:
                self._next(0.05)
            except Empty:
                self.page.wait_for_timeout(10)

    def _show(self, number):
        self.page.evaluate(
            "([id, state]) => window.show(id, state)", [number, self._states[number]]
        )
        return self.page.frame_locator("iframe").nth(self.page.locator("iframe").count() - 1)

    def _next(self, timeout_s):
        """Return the next message of the kernel, after the page has got it."""
        message = self._client.get_iopub_msg(timeout=timeout_s)
        content = message["content"]
        if message["msg_type"] == "comm_open":
            self._states[content["comm_id"]] = content["data"]["state"]
        elif message["msg_type"] == "comm_msg" and content["data"]["method"] == "custom":
            given = [content["comm_id"], content["data"]["content"], self._bytes(message)]
            self.page.evaluate("(given) => window.deliver(...given)", given)
        return message

    def _bytes(self, message):
        return [list(bytes(each)) for each in message["buffers"]]

    def _send(self, number, content, buffers):
        data = {"method": "custom", "content": content}
        message = self._client.session.msg("comm_msg", {"comm_id": number, "data": data})
        channel = self._client.shell_channel.socket
        self._client.session.send(channel, message, buffers=[bytes(each) for each in buffers])
