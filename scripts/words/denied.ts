/**
 * Words and phrases that readers found unclear or unidiomatic, and the standard term for each. `pattern` is a regular
 * expression without flags; it is matched case-insensitively between word boundaries.
 */
export interface DeniedWord {
  pattern: string;
  instead: string;
}

export const DENIED_PHRASES: readonly DeniedWord[] = [
  { pattern: "at once", instead: "immediately, or concurrently" },
  { pattern: "any ?more", instead: "no longer" },
  { pattern: "no more(?! than)", instead: "no longer, or no further" },
  { pattern: "anew", instead: "again, or new" },
  { pattern: "for good", instead: "permanently" },
  { pattern: "by (?:itself|themselves)", instead: "automatically, or alone" },
  { pattern: "in some seconds", instead: "in a few seconds" },
  { pattern: "puts? off", instead: "defers, or deferred" },
  { pattern: "goes? before", instead: "takes precedence over" },
  { pattern: "signed itself", instead: "self-signed" },
  { pattern: "heeded", instead: "enforced, or honoured" },
  { pattern: "judged?|judges", instead: "authenticate, or evaluate" },
  { pattern: "vouch(?:es|ed)?", instead: "authenticate" },
  { pattern: "believed", instead: "trusted" },
  { pattern: "is tried again", instead: "will retry" },
  { pattern: "looked after|looks after", instead: "maintained, or name the task" },
  { pattern: "is over|are over", instead: "has ended, or has expired" },
  { pattern: "(?<!there )(?:is no(?! longer)|are none)", instead: "is not a, or there are no" },
  { pattern: "of ours|of theirs", instead: "our, or name the owner" },
  { pattern: "in vain", instead: "without success" },
  { pattern: "the world", instead: "public DNS, clients, or the internet" },
  { pattern: "the next server", instead: "the next hop" },
  { pattern: "signs of its own", instead: "special characters" },
  { pattern: "lets? go(?: of)?", instead: "release, or close" },
  { pattern: "goes on|go on", instead: "continues, or resumes" },
  { pattern: "somebody|anybody|(?<!`)nobody|whoever", instead: "client, user, viewer, caller, or process" },
  { pattern: "somebody else's", instead: "foreign, or another user's" },
  { pattern: "(?:is|are|was|were|be|been) told|tells|tell of", instead: "reports, logs, returns, or notifies" },
  { pattern: "turned away|turns away", instead: "rejected" },
  { pattern: "a fault of", instead: "an internal error" },
  { pattern: "(?<!ietf-)wish(?:es|ed)?", instead: "request, or claims" },
  { pattern: "ways? in|ways? out", instead: "ingest protocol, or playback protocol" },
  { pattern: "in (?:the )?order in which", instead: "in order of" },
  { pattern: "stands? (?:in|there|still|for itself|beside)", instead: "is stored, is listed, or appears" },
  { pattern: "lies? (?:in|below|beside)", instead: "is stored in, or is located in" },
  { pattern: "has come|have come|has gone|have gone", instead: "arrived, or disappeared" },
  { pattern: "what(?:'s| is) wrong with it", instead: "the problem, or status" },
  { pattern: "put right|puts right", instead: "fix" },
];

/** A sentence that starts with one of these has no subject. */
export const DENIED_STARTS: readonly DeniedWord[] = [
  { pattern: "What(?! (?:is|are|does|do|can|if|to)\\b[^.]*\\?)", instead: "a subject and a verb" },
  { pattern: "Whoever", instead: "a subject: the client, the caller" },
  { pattern: "Whose", instead: "a subject: the owner" },
  { pattern: "Of (?!course)", instead: "a subject" },
  { pattern: "That (?!is\\b)", instead: "a subject" },
];

/** Parts of identifiers and file names, in lower camel or upper camel case. */
export const DENIED_NAMES: readonly DeniedWord[] = [
  { pattern: "Wish(?:es)?", instead: "Request" },
  { pattern: "Maker|Making", instead: "Encoder, Builder" },
  { pattern: "Room|Rooms", instead: "Module, Slots" },
  { pattern: "Hall", instead: "PendingConnections" },
  { pattern: "Bell", instead: "WakeSignal" },
  { pattern: "Turns", instead: "KeyedQueue" },
  { pattern: "Told", instead: "Output, Report" },
  { pattern: "Asked", instead: "Request" },
  { pattern: "letGo|LetGo", instead: "release" },
  { pattern: "takeBack|TakeBack", instead: "processBounce, reclaim" },
  { pattern: "turnAway|TurnAway", instead: "reject" },
  { pattern: "takeIn|TakeIn", instead: "accept" },
  { pattern: "vouched|Vouched", instead: "authenticated" },
  { pattern: "Surroundings", instead: "CommandContext" },
  { pattern: "Stories|Story", instead: "InvocationLog, Timeline" },
  { pattern: "MOST_|LONGEST_|LEAST_|LARGEST_|FEWEST_", instead: "MAX_, MIN_" },
];
