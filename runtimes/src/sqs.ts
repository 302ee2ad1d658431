/** A queue of SQS, as the consumer wants one. The guide to S3 and SQS shows this file. */

import type { Consumer, QueueBinding, RunMessage } from "@durable/cloudflare";
import { Signer, type Credentials } from "@durable/s3";

export interface SqsOptions extends Credentials {
  readonly queueUrl: string;
  readonly region: string;
  /** SQS redelivers a message after this time without a sign of life. Must be longer than the lease. */
  readonly visibilitySeconds: number;
}

interface Received {
  readonly MessageId: string;
  readonly ReceiptHandle: string;
  readonly Body: string;
  readonly Attributes: { readonly ApproximateReceiveCount: string };
}

export class SqsQueue implements QueueBinding {
  readonly #options: SqsOptions;
  readonly #signer: Signer;

  constructor(options: SqsOptions) {
    this.#options = options;
    this.#signer = new Signer(options, { region: options.region, service: "sqs" });
  }

  async send(message: RunMessage, { delaySeconds = 0 } = {}): Promise<void> {
    // SQS delays by at most 15 minutes. A consumer that gets the message too early sends another one.
    const DelaySeconds = Math.min(delaySeconds, 900);
    await this.#ask("SendMessage", { MessageBody: JSON.stringify(message), DelaySeconds });
  }

  /** Waits up to 20 seconds for a message and passes it to the consumer; false if there was no message. */
  async take(consumer: Consumer): Promise<boolean> {
    const VisibilityTimeout = this.#options.visibilitySeconds;
    const { Messages: [received] = [] } = await this.#ask<{ Messages?: Received[] }>("ReceiveMessage", {
      MessageSystemAttributeNames: ["ApproximateReceiveCount"],
      WaitTimeSeconds: 20,
      VisibilityTimeout,
    });
    if (received === undefined) return false;

    const { MessageId: id, ReceiptHandle, Body, Attributes } = received;
    const hide = (seconds: number) =>
      this.#ask("ChangeMessageVisibility", { ReceiptHandle, VisibilityTimeout: seconds });
    // A live process keeps its message, even during a long step.
    const alive = setInterval(
      () => void hide(VisibilityTimeout).catch(() => {}),
      (VisibilityTimeout * 1_000) / 3,
    );
    let settle = () => hide(0);
    const attempts = Number(Attributes.ApproximateReceiveCount);
    const ack = () => void (settle = () => this.#ask("DeleteMessage", { ReceiptHandle }));
    const retry = ({ delaySeconds = 0 } = {}) => void (settle = () => hide(delaySeconds));
    try {
      await consumer.queue({ messages: [{ id, body: parsed(Body), attempts, ack, retry }] });
    } finally {
      clearInterval(alive);
    }
    await settle();
    return true;
  }

  async #ask<Reply>(action: string, values: object): Promise<Reply> {
    const { queueUrl: QueueUrl } = this.#options;
    const request = {
      method: "POST",
      url: new URL("/", QueueUrl),
      headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` },
      body: new TextEncoder().encode(JSON.stringify({ QueueUrl, ...values })),
    };
    const headers = await this.#signer.sign(request, new Date());
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(request.url, { method: "POST", headers, body: request.body, signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`SQS answered ${response.status} to ${action}: ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Reply;
  }
}

/** The consumer refuses a body that is not JSON; SQS moves it to the dead-letter queue after the last delivery. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
