import { assertEquals } from "@std/assert";
import { TaskLine } from "./task_line.ts";

Deno.test("TaskLine gives one that comes back its old place", () => {
  const line = new TaskLine();
  for (const key of [1, 2, 3]) line.add({ key });
  const [first] = line.take(({ key }) => key === 1);
  line.add({ key: 4 });
  line.add(first!);
  assertEquals(line.take(() => true).map(({ key }) => key), [1, 2, 3, 4]);
  assertEquals(line.size, 0);
});

Deno.test("TaskLine keeps what is not taken", () => {
  const line = new TaskLine();
  for (const key of [1, 2, 3]) line.add({ key });
  assertEquals(line.take(({ key }) => key === 2).length, 1);
  assertEquals(line.size, 2);
  line.clear();
  assertEquals(line.size, 0);
});
