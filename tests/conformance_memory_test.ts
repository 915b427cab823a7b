import { conformance } from "./conformance/mod.ts";
import { memoryHarness } from "./harness/memory.ts";

conformance(memoryHarness);
