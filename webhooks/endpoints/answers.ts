/** What an attempt says of its endpoint: it was answered well, was not answered, or was answered with another status. */
export type Sign = "well" | "silent" | "refused";

/** So many deliveries are looked at, each by its last answer, and for so long, in ms. */
const DELIVERIES_MAX = 20;
const REMEMBERED_MS = 60_000;
/**
 * So many must be silent, or be answered with another status, before the endpoint is held to be down. Where one was answered
 * well, what is answered otherwise may be what came first by chance: then all that are looked at must be there.
 */
const SILENT_MIN = 2;
const REFUSED_MIN = 10;
/** Whoever has answered well so short a while ago works, in ms, whatever it says of one delivery. */
const WELL_MS = 1000;
const PLACES_MAX = 10_000;

interface Answer {
  readonly sign: Sign;
  readonly at: number;
}

interface Seen {
  /** By delivery, the latest last: a delivery's own retries count once. */
  readonly answers: Map<string, Answer>;
  /** When it last answered well, and to which delivery. */
  wellAt: number;
  wellTo: string | null;
}

/** Remembers what the latest deliveries to each place, an endpoint and its URL, came to here. All times are of `performance.now()`. */
export class Answers {
  readonly #seen = new Map<string, Seen>();

  /** An attempt to make a delivery has ended. */
  note(place: string, deliveryId: string, sign: Sign): void {
    const seen = this.#of(place);
    const at = performance.now();
    seen.answers.delete(deliveryId);
    seen.answers.set(deliveryId, { sign, at });
    if (seen.answers.size > DELIVERIES_MAX) seen.answers.delete(seen.answers.keys().next().value!);
    if (sign !== "well") return;
    seen.wellAt = at;
    seen.wellTo = deliveryId;
  }

  /** The endpoint works again: what it did before counts no more. */
  forgive(place: string): void {
    const { answers } = this.#of(place);
    for (const [delivery, { sign }] of answers) if (sign !== "well") answers.delete(delivery);
  }

  /** Whether most of its latest deliveries failed, and enough of them: silence says more than another status. */
  isDown(place: string): boolean {
    const since = performance.now() - REMEMBERED_MS;
    const latest = [...this.#of(place).answers.values()].filter(({ at }) => at > since);
    const count = (sign: Sign) => latest.filter((answer) => answer.sign === sign).length;
    const silent = count("silent");
    const failed = silent + count("refused");
    const areEnough = failed === latest.length ? failed >= REFUSED_MIN : latest.length === DELIVERIES_MAX;
    return silent >= SILENT_MIN && silent * 2 > latest.length || areEnough && failed * 2 > latest.length;
  }

  /** Whether it has just answered another delivery well. */
  isWell(place: string, deliveryId: string): boolean {
    return this.#wellToAnother(place, deliveryId) > performance.now() - WELL_MS;
  }

  /** Whether it has answered another delivery well since a moment. */
  wasWellSince(place: string, deliveryId: string, since: number): boolean {
    return this.#wellToAnother(place, deliveryId) > since;
  }

  #wellToAnother(place: string, deliveryId: string): number {
    const seen = this.#seen.get(place);
    return seen === undefined || seen.wellTo === deliveryId ? -Infinity : seen.wellAt;
  }

  #of(place: string): Seen {
    let seen = this.#seen.get(place);
    if (seen === undefined) {
      if (this.#seen.size >= PLACES_MAX) this.#seen.clear();
      seen = { answers: new Map(), wellAt: -Infinity, wellTo: null };
      this.#seen.set(place, seen);
    }
    return seen;
  }
}
