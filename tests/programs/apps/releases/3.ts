import { type Application, release } from "./release.ts";

const application: Application = release({ number: 3, steps: 3, kinds: ["stock.recount"] });
export default application;
