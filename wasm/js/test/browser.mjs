// A page in a real browser: served from here, its answer sent back here.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join, normalize } from "node:path";
import { tmpdir } from "node:os";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const TYPES = { ".html": "text/html", ".wasm": "application/wasm", ".json": "application/json" };
/** A browser that starts on a busy machine takes its time. */
const PATIENCE_MS = 120_000;

/** RG_BROWSER, or the first of the known names on the search path; null: none. */
export function browser() {
  if (process.env.RG_BROWSER) return process.env.RG_BROWSER;
  const folders = (process.env.PATH ?? "").split(delimiter);
  const files = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return files.find(isProgram) ?? null;
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Opens `page` in `program`; what it posts to /told, as text. `roots` are served by first name. */
export async function tell(program, page, roots) {
  let resolve, reject;
  const promise = new Promise((...both) => ([resolve, reject] = both));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    if (request.method === "POST" && pathname === "/told") {
      read(request).then(resolve, reject);
      response.end();
    } else {
      serve(pathname, page, roots, response);
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const profile = mkdtempSync(join(tmpdir(), "browser-"));
  const child = spawn(program, flags(profile, server.address().port), {
    stdio: ["ignore", "ignore", "pipe"],
    // A group of its own: a browser is many processes.
    detached: true,
  });
  let said = "";
  child.stderr.on("data", (bytes) => (said += bytes));
  child.on("error", reject);
  child.on("exit", (code) => reject(new Error(`${program} ended with ${code}: ${said}`)));
  const late = setTimeout(
    () => reject(new Error(`nothing was told in ${PATIENCE_MS} ms: ${said}`)),
    PATIENCE_MS,
  );
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    await end(child);
    server.close();
    server.closeAllConnections();
    discard(profile);
  }
}

function flags(profile, port) {
  return [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", `--user-data-dir=${profile}`, `http://127.0.0.1:${port}/`,
  ];
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

function serve(path, page, roots, response) {
  if (path === "/") {
    response.setHeader("content-type", "text/html");
    response.end(page);
    return;
  }
  const [, root, ...rest] = normalize(decodeURIComponent(path)).split("/");
  try {
    const bytes = readFileSync(join(roots[root], ...rest));
    response.setHeader("content-type", TYPES[extname(path)] ?? "text/javascript");
    response.end(bytes);
  } catch {
    response.statusCode = 404;
    response.end();
  }
}

function end(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.removeAllListeners("exit");
  const gone = new Promise((resolve) => child.on("exit", resolve));
  process.kill(-child.pid, "SIGKILL");
  return gone;
}

/** A scratch folder: what a dying process still writes there is no failure of a test. */
function discard(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  } catch {
    // It stays with the system's other temporary files.
  }
}
