import { release } from "./release.ts";

export default release({ number: 3, steps: 3, kinds: ["stock.recount"] });
