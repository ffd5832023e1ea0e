/**
 * Operations with a query that reads more than the rows it returns, with the reason why that is accepted. The queries of all
 * others use an index for every condition and order, see plans.test.ts.
 */
export const UNINDEXED: Readonly<Record<string, string>> = {
  "videos: search with two letters":
    "A trigram index cannot find fewer than three characters. The list reads names from the newest video on, and two letters usually occur in the first of them.",
  "mail log: search by part of the subject":
    "Reads the next 5,000 entries of a page in memory at most, and the cursor continues after them. An index of substrings would be larger than the log.",
  "outbound queue: count":
    "Compared with the limit of the queue, up to which it counts. The result is reused for 100 times as long as the count took.",
  "outbound queue: sweep of finished messages":
    "Reads 500 unfinished messages per statement, and 10,000 per hour, after a crash between two writes.",
  "queue messages: count":
    "A counter would be a row that all senders and consumers of a queue update. The result is reused for 20 times as long as the count took.",
  "queue messages: queues with due messages":
    "Reads all consumers, of which there is one per queue, and looks up one message of each.",
  "DNS records: search":
    "Matches any part of name, content or comment of the records of one zone. Only people search, and a zone has few records.",
  "DNS records: search for a word in all names": "Like the search; the number of matches is part of the response.",
};

const RARE_TRIGRAMS =
  "Reads the videos whose names contain the rarest three characters of the text: a part of the videos, which grows with them.";

/** Operations that take longer with more rows: the benchmark `growth` does not count them. */
export const GROWING: Readonly<Record<string, string>> = {
  ...UNINDEXED,
  "videos: search": RARE_TRIGRAMS,
  "videos: search without a match": RARE_TRIGRAMS,
};
