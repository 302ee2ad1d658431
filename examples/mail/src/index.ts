export { addressIn, bareId, emailIn, emailSchema, isGenuine, nameIn, oneLine, type Email } from "./email.ts";
export { sourcesIn, type Source } from "./inbound.ts";
export { decide, ownWords, type Decision } from "./reply.ts";
export { outboxMailer, smtpMailer, type Mailbox, type Mailer, type Message, type Sent } from "./mailer.ts";
