/** Step names from values of models and users. Proven in test/names.test.ts. */

export { stepName } from "@durable/core/clients";
