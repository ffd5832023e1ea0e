/**
 * One deliberate fault, and the test that must detect it. `drills/mutations/<topic>.ts` exports `mutations:
 * Mutation[]`. A good mutation breaks a rule required by users, a standard or the docs; a mutation without effect
 * proves nothing.
 */
export interface Mutation {
  /** Source file, relative to the root of the checkout. */
  file: string;
  /** Code that occurs exactly once in `file`; spaces, line breaks and trailing commas are ignored. */
  from: string;
  /** Replacement. The result must still parse and load. */
  to: string;
  /** Test file that must fail. Preferably one that finishes in a few seconds. */
  test: string;
  /** Runs only the tests whose name matches this regular expression. */
  name?: string;
  /** Only for mutations that make the test hang: the test is stopped after this time, which counts as killed. */
  timeoutMs?: number;
}
