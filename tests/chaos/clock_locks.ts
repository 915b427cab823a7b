const FOLDER = "/dev/shm";
const PREFIX = "sem.";
const LOOK_MS = 250;
/** A lock that somebody waits for at so many looks is nobody's. */
const LOOKS = 4;

const LIBC = {
  sem_open: { parameters: ["buffer", "i32"], result: "pointer" },
  sem_post: { parameters: ["pointer"], result: "i32" },
  sem_close: { parameters: ["pointer"], result: "i32" },
} as const;

/**
 * A process that libfaketime is loaded into takes a lock for a moment at its start, which it shares with the program that
 * started it and with all that this one starts. Whoever is killed in that moment keeps them all from starting for ever,
 * which no fault of this run is meant to do. This opens such locks again.
 */
export class ClockLocks implements Disposable {
  readonly #libc = Deno.dlopen("libc.so.6", LIBC);
  readonly #held = new Map<string, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  #opened = 0;

  /** Begins to look. */
  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** How many were opened. */
  get opened(): number {
    return this.#opened;
  }

  /** Ends. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#libc.close();
  }

  #look(): void {
    for (const { name } of Deno.readDirSync(FOLDER)) {
      if (!name.startsWith(`${PREFIX}faketime_sem_`)) continue;
      const looks = isWaitedFor(`${FOLDER}/${name}`) ? (this.#held.get(name) ?? 0) + 1 : 0;
      this.#held.set(name, looks % LOOKS);
      if (looks === LOOKS) this.#open(name.slice(PREFIX.length));
    }
  }

  #open(name: string): void {
    const { sem_open: open, sem_post: post, sem_close: close } = this.#libc.symbols;
    const semaphore = open(new TextEncoder().encode(`/${name}\0`), 0);
    if (semaphore === null) return;
    post(semaphore);
    close(semaphore);
    this.#opened++;
  }
}

/** In glibc's semaphores, on 64 bits, the value is followed by the number of those who wait. */
function isWaitedFor(path: string): boolean {
  try {
    const [value, waiting] = new Uint32Array(Deno.readFileSync(path).slice(0, 8).buffer);
    return value === 0 && waiting! > 0;
  } catch {
    // Its process has gone.
    return false;
  }
}
