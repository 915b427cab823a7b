import { assertEquals } from "@std/assert";
import { Contact } from "./contact.ts";

Deno.test("Contact tells once when a statement succeeds after failures, and at most once a second", () => {
  let nowMs = 0;
  const contact = new Contact(() => nowMs);
  let told = 0;
  const end = contact.onAnswer(() => told++);
  contact.answered();
  assertEquals(told, 0);
  contact.failed();
  contact.failed();
  contact.answered();
  contact.answered();
  assertEquals(told, 1);
  contact.failed();
  nowMs = 999;
  contact.answered();
  assertEquals(told, 1);
  // It was not forgotten.
  nowMs = 1000;
  contact.answered();
  assertEquals(told, 2);
  end();
  contact.failed();
  nowMs = 5000;
  contact.answered();
  assertEquals(told, 2);
});
