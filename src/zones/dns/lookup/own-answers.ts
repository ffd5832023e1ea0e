import type { Clock, Log } from "../../../kernel/index.ts";
import { answerQuestion } from "../answer.ts";
import { createCachedZones } from "../cached-zones.ts";
import type { LookUpAddresses } from "../address-cache.ts";
import { createFlatten } from "../flatten.ts";
import { createRespond } from "../respond.ts";
import type { ServedZone, ServedZones } from "../served.ts";
import { LookupError } from "./failure.ts";
import { type Question, readAnswer, type WireAnswer, writeQuestion } from "./message.ts";

interface OwnAnswersOptions {
  zones: ServedZones;
  clock: Clock;
  log: Log;
  /** True if public DNS delegates the zone to this server; see createDelegations. */
  isDelegatedHere(zone: ServedZone): Promise<boolean>;
  lookUp: LookUpAddresses;
}

/**
 * The answer of our own DNS server; undefined if other servers must be queried. Throws LookupError if our server would
 * return a failure.
 */
type OwnAnswers = (question: Question) => Promise<WireAnswer | undefined>;

export function createOwnAnswers({ zones, clock, log, isDelegatedHere, lookUp }: OwnAnswersOptions): OwnAnswers {
  const cachedZones = createCachedZones(zones, clock);
  const answerDeps = { zones: cachedZones, flatten: createFlatten({ zones: cachedZones, clock, lookUp }) };
  const respond = createRespond({ clock, log, answer: (name, type) => answerQuestion(answerDeps, name, type) });

  return async (question) => {
    const zone = await cachedZones.find(question.name);
    if (zone === undefined || !(await isDelegatedHere(zone))) return undefined;
    // Uses the wire format, so that we read exactly what a resolver would read.
    const message = writeQuestion(question, { edns: true });
    const reply = await respond(message, "tcp");
    const answer = reply && readAnswer(reply, question, message);
    if (answer === undefined)
      throw new LookupError("ESERVFAIL", `${question.type} ${question.name}: this server's own response is invalid`);
    // A delegated name is answered by its own name servers.
    if (
      answer.rcode === "REFUSED" ||
      (!answer.authoritative && answer.records.length === 0 && answer.rcode === "NOERROR")
    )
      return undefined;
    if (answer.rcode !== "NOERROR" && answer.rcode !== "NXDOMAIN")
      throw new LookupError("ESERVFAIL", `${question.type} ${question.name}: this server responded ${answer.rcode}`);
    return answer;
  };
}
