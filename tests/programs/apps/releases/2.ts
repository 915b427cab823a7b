import { release } from "./release.ts";

export default release({ number: 2, steps: 2, kinds: ["stock.count", "stock.recount"] });
