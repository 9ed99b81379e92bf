// The page of the service in a frame of the notebook, whose requests the kernel answers.

const WORDS = {
  en: { starting: "The explainer starts.",
    busy: "The kernel runs a cell. The widget continues when that cell has ended.",
    gone: "The kernel was restarted or has ended. Run the cell of the widget again." },
  de: { starting: "Der Erklärer startet.",
    busy: "Der Kernel führt eine Zelle aus. Danach geht es hier weiter.",
    gone: "Der Kernel wurde neu gestartet oder beendet. Führen Sie die Zelle des Widgets noch einmal aus." },
};
const BUSY_MS = 1500; // without a sign of the kernel
// What a notebook does not need: choice of the model, addresses and the HTTP interface.
const HIDDEN = "header, footer, .skip, #link, #bookmark, #bookmarks { display: none }";
const DARK = "(prefers-color-scheme: dark)";

function render({ model, el }) {
  const view = `${Math.random()}`.slice(2);
  const said = document.createElement("p");
  const frame = document.createElement("iframe");
  said.setAttribute("role", "status");
  frame.title = "counterfolio";
  frame.style.cssText = "width: 100%; border: 0; display: block; height: 20rem";
  const kernel = new Kernel(model, view, (name) => {
    said.textContent = name ? words()[name] : "";
    said.hidden = !name;
  });
  kernel.say("starting");
  const page = new DOMParser().parseFromString(model.get("files")["index.html"], "text/html");
  for (const part of page.querySelectorAll("link, script")) part.remove();
  page.head.append(page.createElement("style"));
  frame.srcdoc = `<!doctype html>${page.documentElement.outerHTML}`;
  let stop = () => {};
  frame.addEventListener("load", () => {
    stop = fill(frame, model.get("files"), kernel);
  }, { once: true });
  el.append(said, frame);
  kernel.send({ kind: "open", id: view });
  return () => {
    stop();
    kernel.close();
  };
}

// Starts the page in its frame; returns a function that ends what it has begun.
function fill(frame, files, kernel) {
  const { contentWindow: inner, contentDocument: page } = frame;
  inner.fetch = (path, request) => kernel.fetch(inner, path, request);
  const style = page.querySelector("style");
  const paint = () => {
    const dark = isDark();
    page.documentElement.style.colorScheme = dark ? "dark" : "light";
    style.textContent = files["page.css"].replaceAll(DARK, `(${dark ? "min" : "max"}-width: 0px)`) + HIDDEN;
  };
  paint();
  const theme = new MutationObserver(paint);
  theme.observe(document.body, { attributes: true });
  const preferred = matchMedia(DARK);
  preferred.addEventListener("change", paint);
  const size = new inner.ResizeObserver(() => {
    frame.style.height = `${Math.ceil(page.body.getBoundingClientRect().height)}px`;
  });
  size.observe(page.body);
  const made = {};
  const script = page.createElement("script");
  script.type = "module";
  script.src = address("main.js", files, made);
  page.head.append(script);
  return () => {
    theme.disconnect();
    preferred.removeEventListener("change", paint);
    size.disconnect();
    Object.values(made).forEach((each) => URL.revokeObjectURL(each));
  };
}

// Returns the address of a module, whose imports are replaced by addresses of the same kind.
function address(name, files, made) {
  made[name] ??= URL.createObjectURL(new Blob(
    [files[name].replace(/from "\.\/([\w-]+\.js)"/g, (_, other) => `from "${address(other, files, made)}"`)],
    { type: "text/javascript" }));
  return made[name];
}

// Returns whether the notebook has a dark theme: that of Jupyter, of VS Code, or of the browser.
function isDark() {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false";
  if (vscodeThemeKind) return !vscodeThemeKind.includes("light");
  return matchMedia(DARK).matches;
}

function words() {
  let language = navigator.language;
  try {
    language = localStorage.getItem("counterfolio language") ?? language;
  } catch { // the browser stores nothing
  }
  return WORDS[language?.slice(0, 2)] ?? WORDS.en;
}

// Sends requests as messages, and returns responses as fetch() does.
class Kernel {
  constructor(model, view, say) {
    Object.assign(this, { model, view, say, count: 0, pending: new Map() });
    this.hear = ({ kind, id, ...rest }, buffers) => this.pending.get(id)?.[kind]?.(rest, buffers);
    this.look = () => this.send({ kind: "look" });
    model.on("msg:custom", this.hear);
    model.on("comm_live_update", this.look);
  }

  // Sends a message, unless the kernel is gone.
  send(message, bytes = []) {
    try {
      this.model.send(message, undefined, bytes);
    } catch {
      this.end();
    }
  }

  close() {
    this.model.off("msg:custom", this.hear);
    this.model.off("comm_live_update", this.look);
    for (const id of this.pending.keys()) this.send({ kind: "cancel", id });
    this.send({ kind: "close", id: this.view });
  }

  end() {
    this.gone = true;
    this.say("gone");
    for (const request of this.pending.values()) request.lost();
    this.pending.clear();
  }

  fetch(inner, path, { method = "GET", headers = {}, body, signal } = {}) {
    const id = `${this.view}-${this.count += 1}`;
    const lost = () => new inner.Response(JSON.stringify({ detail: words().gone }), { status: 503 });
    if (this.gone) return Promise.resolve(lost());
    return new inner.Promise((resolve, reject) => {
      let stream;
      const busy = setTimeout(() => this.say("busy"), BUSY_MS);
      const finish = () => {
        clearTimeout(busy);
        this.pending.delete(id);
      };
      signal?.addEventListener("abort", () => {
        if (!this.pending.has(id)) return;
        finish();
        this.say("");
        this.send({ kind: "cancel", id });
        stream?.error(signal.reason);
        reject(signal.reason);
      });
      this.pending.set(id, {
        received: () => clearTimeout(busy),
        head: ({ status, headers: received }) => {
          this.say("");
          const content = new inner.ReadableStream({ start: (controller) => { stream = controller; } });
          resolve(new inner.Response(content, { status, headers: received }));
        },
        body: (_, [bytes]) => stream.enqueue(new inner.Uint8Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))),
        end: () => {
          finish();
          stream.close();
        },
        lost: () => {
          finish();
          stream?.error(new Error(words().gone));
          resolve(lost());
        },
      });
      const bytes = body === undefined ? [] : [new TextEncoder().encode(body).buffer];
      this.send({ kind: "request", id, method, path: `/${path}`, headers }, bytes);
    });
  }
}

export default { render };
