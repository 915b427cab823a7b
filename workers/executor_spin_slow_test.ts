import { assert, assertEquals, assertMatch } from "@std/assert";

interface Told {
  readonly outcomes: Readonly<Record<string, { type: string; class?: string; alone?: boolean; ms: number }>>;
  readonly lost: readonly { kind: string; jobId: string; lost: number }[];
  readonly stopMs: number;
}

/** Runs a scenario in a process of its own, for a thread that spins burns its core until the process ends. */
async function scenario(name: string): Promise<Told> {
  const program = new URL("./testdata/spinning_program.ts", import.meta.url);
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", program.href, name],
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert(text !== "", new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

for (const action of ["spin", "spinLater", "atomicsWait", "regexp"]) {
  Deno.test(`${action} ends at its limit and the grace, the others go on uncharged, stop() does not hang`, async () => {
    const { outcomes, lost, stopMs } = await scenario(action);
    assertEquals(outcomes["bad"]?.type, "failed");
    assertEquals(outcomes["bad"]?.class, "timeout");
    assert(outcomes["bad"]!.ms < 5000, `it took ${outcomes["bad"]!.ms} ms`);
    assertEquals(lost, [{ kind: "bad.kind", jobId: "bad", lost: 1 }]);
    // The one in the same thread is put back, everything else completes.
    for (const [name, outcome] of Object.entries(outcomes)) {
      if (name === "bad") continue;
      assert(outcome.type === "completed" || outcome.type === "released", `${name} is ${outcome.type}`);
    }
    for (const name of ["during", "after", "elsewhere"]) {
      assertEquals(outcomes[name]?.type, "completed", name);
    }
    assert(outcomes["during"]!.ms < 4000, `it waited ${outcomes["during"]!.ms} ms for a thread`);
    assert(stopMs < 1000);
  });
}

Deno.test("a queue whose jobs block every thread leaves the other queues' jobs going", async () => {
  const { outcomes } = await scenario("block all");
  for (const [name, outcome] of Object.entries(outcomes)) {
    if (name.startsWith("bad")) {
      assertEquals(outcome.type, "failed", name);
    } else {
      assertEquals(outcome.type, "completed", name);
      assert(outcome.ms < 4000, `${name} took ${outcome.ms} ms`);
    }
  }
});

Deno.test("a job that another one's busy loop kept from going on is released to run alone, not charged", async () => {
  const { outcomes } = await scenario("kept busy");
  assertEquals(outcomes["kept"]?.type, "released");
  assertEquals(outcomes["kept"]?.alone, true);
});

Deno.test("who blocks a thread after an await can't be told from its neighbours: all go back to run alone, uncharged", async () => {
  const { outcomes, lost } = await scenario("after an await");
  assertEquals(Object.keys(outcomes).length, 4);
  for (const [name, outcome] of Object.entries(outcomes)) {
    assertEquals([outcome.type, outcome.alone], ["released", true], name);
  }
  assertEquals(lost.length, 2);
  for (const { kind, jobId } of lost) {
    assertEquals(kind, "one of test.kind, bad.kind");
    assertMatch(jobId, /^one of innocent \d, guilty \d$/);
  }
});

Deno.test("stop() ends while handlers spin", async () => {
  const { outcomes, stopMs } = await scenario("stop");
  assertEquals(outcomes["bad"]?.type, "released");
  assert(stopMs < 1000);
});
