/** For clients of providers, and for packages that record them: requests, usage, approvals, and words that are read while they come. */

export {
  approvalName,
  approvalOptions,
  askApproval,
  type Approval,
  type ApprovalCall,
  type ApprovalOptions,
  type ApprovalRequest,
} from "./clients/approval.ts";
export { askedByContent, type AskedByContent } from "./clients/changes.ts";
export { durableFetch, type FetchOptions } from "./clients/fetch.ts";
export {
  liveStream,
  LiveWords,
  type LiveEnd,
  type LiveOptions,
  type LiveProducer,
  type LiveRules,
} from "./clients/live.ts";
export { plain, stepName, tokensIn } from "./clients/names.ts";
export { isOfEval, variantOf, type EvalVariant } from "./engine/evals.ts";
export { placed } from "./clients/place.ts";
export { metered, usageIn, usageOfCounts, type Counted } from "./clients/usage.ts";
