import { type Application, release } from "./release.ts";

const application: Application = release({ number: 2, steps: 2, kinds: ["stock.count", "stock.recount"] });
export default application;
