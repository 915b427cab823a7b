import { release } from "./release.ts";

export default release({ number: 1, steps: 1, kinds: ["stock.count"] });
