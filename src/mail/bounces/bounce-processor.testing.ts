import type { BouncesFixture } from "./bounces.testing.ts";

export const NOT_AUTHENTICATED = "550 5.7.26 Feedback report rejected: its author is not authenticated";
export const ONLY_REPORTS = "550 5.7.1 This address accepts delivery status notifications only";
export const NO_SUCH = "550 5.1.1 Unknown return path";
export const EXPIRED = "550 5.1.1 Return path expired";

/** Return paths of a message sent to these recipients. */
export const returnPathsFor = ({ bounces }: BouncesFixture, to: string[]) =>
  bounces.pathsFor({
    account: "acc",
    zone: "zone",
    domain: "Here.Example",
    messageId: "<sent@here.example>",
    message: "m1",
    to,
    from: "app@here.example",
  });

/** Return path of a message sent to bob@example.net. */
export const returnPathFor = async (fixture: BouncesFixture): Promise<string> =>
  (await returnPathsFor(fixture, ["bob@example.net"]))[0]!;
