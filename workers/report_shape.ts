/** Checks what a thread or a host process tells before anything is made of it: handlers run there. */

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === "string";
const count: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const flag: Check = (value) => typeof value === "boolean";
const anything: Check = () => true;
const absent: Check = (value) => value === undefined || value === null;
const record: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const level: Check = (value) =>
  value === "debug" || value === "info" || value === "warn" || value === "error";
const share: Check = (value) => typeof value === "number" && value >= 0 && value <= 1;
const or = (...checks: Check[]): Check => (value) => checks.some((check) => check(value));

const CLASSES: readonly unknown[] = ["error", "timeout", "memory", "crash"];

const outcome: Check = (value) => {
  if (!record(value)) return false;
  const { type, ...rest } = value as Record<string, unknown>;
  switch (type) {
    case "completed":
      return or(absent, text)(rest["output"]) && flag(rest["completedIn"]);
    case "snoozed":
      return typeof rest["delayMs"] === "number";
    case "discarded":
      return text(rest["reason"]);
    case "failed":
      return CLASSES.includes(rest["class"]) && text(rest["message"]) && or(absent, text)(rest["stack"]);
    case "released":
      return text(rest["reason"]) && flag(rest["alone"]);
    default:
      return false;
  }
};

const order: Check = (value) => {
  if (!record(value)) return false;
  const { method, params } = value as Record<string, unknown>;
  return (method === "offer" || method === "enqueueMany" || method === "cancel") && Array.isArray(params);
};

const SHAPES: Readonly<Record<string, readonly Check[]>> = {
  ready: [],
  pong: [],
  ended: [count, outcome],
  unloaded: [count, text, or(absent, text)],
  withdrawn: [count],
  progress: [count, share, or(absent, text)],
  log: [level, text, record],
  output: [text, text, text],
  call: [count, count, text, anything, or(absent, record)],
  endCall: [count],
  jobs: [count, count, order, flag],
  rows: [count, flag, anything],
  checked: [count, or(absent, text)],
  lost: [text, text],
  exit: [or(absent, count), text],
};

/** Whether a value is a report of this side's protocols. What it holds may still be about nobody who is there. */
export function isReport(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const type: unknown = value[0];
  // Almost every report is one of these.
  if (type === "completed") return value.length === 4 && isCompletion(value[1], value[2], value[3]);
  if (typeof type !== "string" || !Object.hasOwn(SHAPES, type)) return false;
  const checks = SHAPES[type]!;
  return value.length <= checks.length + 1 && checks.every((check, at) => check(value[at + 1]));
}

function isCompletion(key: unknown, output: unknown, completedIn: unknown): boolean {
  return typeof key === "number" && (output === null || typeof output === "string") &&
    typeof completedIn === "boolean";
}
