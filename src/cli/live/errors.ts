import { defineErrors } from "../../kernel/index.ts";

export const liveErrors = defineErrors("live", {
  noInputId: {
    code: "E_NO_LIVE_INPUT_ID",
    http: 400,
    message: '"{id}" is not the id of a live input: those are 32 hex digits.',
    fix: "`reelpost live list` shows them.",
  },
  noOutputId: {
    code: "E_NO_LIVE_OUTPUT_ID",
    http: 400,
    message: '"{id}" is not the id of an output: those are 32 hex digits.',
    fix: "`reelpost live outputs list {input}` shows them.",
  },
  noDays: {
    code: "E_NO_DAYS",
    http: 400,
    message: '"{given}" is no number of days.',
    fix: "Give a whole number, or never.",
  },
  nothingToChange: {
    code: "E_NOTHING_TO_CHANGE",
    http: 400,
    message: "Nothing is said that is to be changed.",
    fix: "`reelpost live update --help` lists what can be.",
  },
});
