/** For clients of providers, and for packages that record them: requests, usage, and words that are read while they come. */

export { durableFetch, type FetchOptions } from "./clients/fetch.ts";
export {
  liveStream,
  LiveWords,
  type LiveEnd,
  type LiveOptions,
  type LiveProducer,
  type LiveRules,
} from "./clients/live.ts";
export { metered, usageIn, usageOfCounts, type Counted } from "./clients/usage.ts";
