import { defineErrors } from "../../../kernel/index.ts";

/** The messages begin as those of the hosted SQL API, where published. The SQL API returns only the message. */
export const analyticsErrors = defineErrors("analytics", {
  invalidQuery: {
    code: 10710,
    http: 422,
    message: "Input was invalid: {reason}",
    fix: "Correct the query. docs/bindings.md lists the supported SQL.",
  },
  tooSlow: {
    code: 10711,
    http: 429,
    message:
      "Resource limit: Your query timed out. Try simplifying the query or narrowing the time range. The limit is {limit}.",
  },
  tooMuchMemory: {
    code: 10712,
    http: 429,
    message:
      "Resource limit: Your query requires too much memory. Try simplifying the query or narrowing the time range. The limit is {limit}.",
  },
  resultTooLarge: {
    code: 10713,
    http: 429,
    message:
      "Resource limit: Your query result is too large. Try adding a LIMIT clause or narrowing your query. The limit is {limit}.",
  },
  tooManyQueries: {
    code: 10714,
    http: 429,
    message: "Resource limit: Too many queries queued for this account. Please try again later.",
  },
  tooManyDatasets: {
    code: 10715,
    http: 403,
    message:
      "The account already has {limit} Analytics Engine datasets. A data point for the new dataset {dataset} was dropped.",
    fix: "Use one of the existing datasets. A dataset disappears when its last point expires.",
  },
  invalidPoint: {
    code: 10716,
    http: 400,
    message: "Invalid data point: {reason}",
    fix: "Keep the data point within the limits: at most 20 blobs, 20 doubles and one index.",
  },
});
