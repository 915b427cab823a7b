import { assertEquals } from "@std/assert";
import { createLog } from "../shared/log.ts";
import { outputToLog } from "./handler_output.ts";

Deno.test("outputToLog() takes the executor's prefix apart, and nothing that only looks like one", () => {
  const lines: unknown[] = [];
  const output = outputToLog(createLog({
    write: (line) => {
      const { time: _, level: __, event: ___, ...fields } = JSON.parse(line);
      lines.push(fields);
    },
  }));
  for (
    const line of [
      "[order.mail 17] sent [other 8] too",
      "[two words 17] sent",
      "[order.mail] sent",
      "[a handler] sent",
      "[odd] name 17] sent",
      "no prefix",
      "[order.mail 17] ",
    ]
  ) output(line);
  assertEquals(lines, [
    { kind: "order.mail", jobId: "17", text: "sent [other 8] too" },
    { kind: "two words", jobId: "17", text: "sent" },
    { kind: "order.mail", text: "sent" },
    { text: "sent" },
    { kind: "odd", text: "name 17] sent" },
    { text: "no prefix" },
    { kind: "order.mail", jobId: "17", text: "" },
  ]);
});
