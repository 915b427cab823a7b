import process from "node:process";

/**
 * A console whose every line goes to `write`, so that it can be prefixed. Node's console is the one that takes a
 * stream; it is loaded when something is printed, for it takes longer than most threads' whole start.
 */
export function handlerConsole(write: (line: string) => void): Console {
  let real: Console | undefined;
  const load = (): Console => {
    if (real !== undefined) return real;
    const { Console } = process.getBuiltinModule("node:console") as typeof import("node:console");
    const { Writable } = process.getBuiltinModule("node:stream") as typeof import("node:stream");
    const stream = new Writable({
      decodeStrings: false,
      write(chunk, _encoding, done) {
        const text = String(chunk);
        for (const line of (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")) write(line);
        done();
      },
    });
    return real = new Console({ stdout: stream, stderr: stream }) as unknown as Console;
  };
  const original = globalThis.console;
  return new Proxy(original, {
    get(target, name) {
      if (typeof Reflect.get(target, name) !== "function") return Reflect.get(target, name);
      const method = Reflect.get(load(), name);
      return typeof method === "function" ? method.bind(load()) : Reflect.get(target, name);
    },
  });
}
