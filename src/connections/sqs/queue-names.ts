/** The names of queues in SQS. A name with prefix and suffix is its URL; without a prefix SQS is asked for that. */
import type { SqsConfig } from './driver';
import { Recent } from '../../base/collections';
import { invalidQueueName } from '../../job/errors';
import type { SqsCaller } from './caller';

const FIFO = '.fifo';

/** The queue names that AWS allows. */
const NAME = /^[\w-]{1,75}(\.fifo|[\w-]{0,5})$/;

/** The URLs of further queues are asked for again. */
const MOST_URLS = 1000;

const URL_NAME = /^https?:\/\//;

export class QueueNames {
  readonly #caller: SqsCaller;
  readonly #prefix: string | undefined;
  readonly #suffix: string;
  readonly #urls = new Recent<string, string>(MOST_URLS);

  constructor(caller: SqsCaller, { prefix, suffix = '' }: SqsConfig) {
    this.#caller = caller;
    this.#prefix = prefix?.replace(/\/$/, '');
    this.#suffix = suffix;
  }

  /** @throws E_INVALID_QUEUE_NAME, E_SQS_QUEUE_MISSING */
  async urlOf(queue: string): Promise<string> {
    const known = this.#urls.get(queue);
    if (known !== undefined) return known;
    const name = this.#fullName(queue);
    if (URL_NAME.test(name)) return name;
    if (!NAME.test(name)) {
      throw invalidQueueName(
        queue,
        `connection '${this.#caller.settings.name}'`,
        'SQS takes up to 80 letters, digits, - and _, and .fifo at the end of a FIFO queue',
      );
    }
    const url = this.#prefix === undefined ? await this.#askedFor(name) : `${this.#prefix}/${name}`;
    this.#urls.set(queue, url);
    return url;
  }

  isFifo(queue: string): boolean {
    return this.#fullName(queue).endsWith(FIFO);
  }

  /** All queues that match prefix and suffix. */
  async all(): Promise<readonly string[]> {
    const request = {
      operation: 'ListQueues',
      queue: '*',
      consequence: 'the queues were not listed',
      repeatable: true,
    };
    const names: string[] = [];
    let NextToken: string | undefined;
    do {
      const input = { MaxResults: 1000, ...(NextToken !== undefined && { NextToken }) };
      const page = await this.#caller.call(request, (client, options) => client.listQueues(input, options));
      for (const url of page.QueueUrls ?? []) names.push(...this.#ownName(url));
      ({ NextToken } = page);
    } while (NextToken !== undefined);
    return names;
  }

  /** `orders.fifo` with the suffix `-staging` is `orders-staging.fifo`, as in Laravel. */
  #fullName(queue: string): string {
    if (URL_NAME.test(queue)) return queue;
    return queue.endsWith(FIFO) ? `${queue.slice(0, -FIFO.length)}${this.#suffix}${FIFO}` : `${queue}${this.#suffix}`;
  }

  #ownName(url: string): readonly string[] {
    const at = url.lastIndexOf('/');
    if (this.#prefix !== undefined && url.slice(0, at) !== this.#prefix) return [];
    const name = url.slice(at + 1);
    const [base, end] = name.endsWith(FIFO) ? [name.slice(0, -FIFO.length), FIFO] : [name, ''];
    return base.endsWith(this.#suffix) ? [base.slice(0, base.length - this.#suffix.length) + end] : [];
  }

  async #askedFor(QueueName: string): Promise<string> {
    const consequence = 'its address was not found';
    const request = { operation: 'GetQueueUrl', queue: QueueName, consequence, repeatable: true };
    const { QueueUrl } = await this.#caller.call(request, (client, options) =>
      client.getQueueUrl({ QueueName }, options),
    );
    return QueueUrl ?? QueueName;
  }
}
