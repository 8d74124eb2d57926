/**
 * A server for the JSON protocol of SQS, used with the real SDK: queues as AWS documents them (`sqs-model.ts`), a clock
 * that tests move, and faults on demand.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type ReceiveInput, type SendInput, sizeOf, SqsFault, SqsQueueModel } from './sqs-model';

const MOST_BATCH_BYTES = 1024 * 1024;

/** How the next calls of an action fail. */
export interface Fault {
  readonly action: string;
  /** The number of calls that fail. Default: 1. */
  readonly calls?: number;
  /** `refuse`: the call fails with this error. `lose`: it is carried out but not answered. `garble`: it is, and the answer cannot be read. `hang`: nothing happens. */
  readonly kind: 'refuse' | 'lose' | 'garble' | 'hang';
  readonly code?: string;
  readonly status?: number;
}

/** How entries of the next batches fail. */
export interface EntryFault {
  readonly action: string;
  /** The failing positions in the batch. */
  readonly places: readonly number[];
  readonly code: string;
  readonly senderFault: boolean;
  /** The number of batches that are affected. Default: 1. */
  readonly calls?: number;
}

type Input = Record<string, unknown> & { QueueUrl: string };

interface BatchEntry {
  readonly Id: string;
  readonly ReceiptHandle: string;
  readonly VisibilityTimeout: number;
}

export interface Asked {
  readonly action: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export class SqsServer {
  /** All requests, in order. */
  readonly asked: Asked[] = [];
  /** By name, without the account. */
  readonly queues = new Map<string, SqsQueueModel>();
  #port: number;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #watchers = new Set<() => void>();
  #faults: (Fault & { left: number })[] = [];
  #entryFaults: (EntryFault & { left: number })[] = [];
  #offset = 0;

  private constructor(port: number) {
    this.#port = port;
  }

  /** @param port default: a free one */
  static async start(port = 0): Promise<SqsServer> {
    const server = new SqsServer(port);
    await server.startAgain();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The common part of the queues' URLs. */
  get prefix(): string {
    return `${this.endpoint}/000000000000`;
  }

  now = (): number => Date.now() + this.#offset;

  /** Moves its clock. */
  advance(seconds: number): void {
    this.#offset += seconds * 1000;
    this.#changed();
  }

  createQueue(name: string, attributes: Readonly<Record<string, string>> = {}): SqsQueueModel {
    const fifo = name.endsWith('.fifo') ? { FifoQueue: 'true' } : {};
    const queue = new SqsQueueModel(
      name,
      { ...fifo, ...attributes },
      {
        now: this.now,
        changed: () => this.#changed(),
        deadLetterQueue: (arn) => this.queues.get(arn.split(':').at(-1)!),
      },
    );
    this.queues.set(name, queue);
    return queue;
  }

  fail(fault: Fault): void {
    this.#faults.push({ ...fault, left: fault.calls ?? 1 });
  }

  failEntries(fault: EntryFault): void {
    this.#entryFaults.push({ ...fault, left: fault.calls ?? 1 });
  }

  /** Ends all faults. */
  mend(): void {
    this.#faults = [];
    this.#entryFaults = [];
  }

  /** Forgets all queues, faults and requests. */
  reset(): void {
    this.queues.clear();
    this.asked.length = 0;
    this.mend();
  }

  /** The number of long polls that wait for a message. */
  get waiting(): number {
    return this.#watchers.size;
  }

  /** The number of requests for an action. */
  count(action: string): number {
    return this.asked.filter((one) => one.action === action).length;
  }

  /** Ends all connections and accepts no more. The queues are kept. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#changed();
    await once(server, 'close');
  }

  /** Starts again on the same port with the same queues. */
  async startAgain(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const action = String(request.headers['x-amz-target']).replace('AmazonSQS.', '');
    const input = JSON.parse(Buffer.concat(chunks).toString()) as Input;
    this.asked.push({ action, input });
    const fault = this.#faults.find((one) => one.action === action && one.left > 0);
    if (fault !== undefined) fault.left -= 1;
    if (fault?.kind === 'hang') return;
    try {
      if (request.headers.authorization === undefined)
        throw new SqsFault('MissingAuthenticationToken', 'No token', 403);
      if (fault?.kind === 'refuse') {
        throw new SqsFault(fault.code ?? 'ServiceUnavailable', 'on demand', fault.status ?? 503);
      }
      const output = await this.#carryOut(action, input, response);
      if (fault?.kind === 'lose') request.socket.destroy();
      else if (fault?.kind === 'garble') response.end('{"Successful":[{');
      else this.#answer(response, 200, output);
    } catch (error) {
      const { code, status, message } =
        error instanceof SqsFault ? error : new SqsFault('InternalFailure', String(error), 500);
      this.#answer(response, status, { __type: `com.amazonaws.sqs#${code}`, message }, code);
    }
  }

  #answer(response: ServerResponse, status: number, output: object, code?: string): void {
    response.writeHead(status, {
      'content-type': 'application/x-amz-json-1.0',
      date: new Date(this.now()).toUTCString(),
      ...(code !== undefined && { 'x-amzn-query-error': `${code};${status < 500 ? 'Sender' : 'Receiver'}` }),
    });
    response.end(JSON.stringify(output));
  }

  async #carryOut(action: string, input: Input, response: ServerResponse): Promise<object> {
    switch (action) {
      case 'CreateQueue':
        this.createQueue(String(input['QueueName']), input['Attributes'] as Record<string, string> | undefined);
        return { QueueUrl: `${this.prefix}/${String(input['QueueName'])}` };
      case 'DeleteQueue':
        this.queues.delete(this.#queue(input).name);
        return {};
      case 'ListQueues':
        return { QueueUrls: [...this.queues.keys()].map((name) => `${this.prefix}/${name}`) };
      case 'GetQueueUrl':
        return { QueueUrl: `${this.prefix}/${this.#named(String(input['QueueName'])).name}` };
      case 'GetQueueAttributes':
        return { Attributes: this.#queue(input).allAttributes };
      case 'PurgeQueue':
        this.#queue(input).purge();
        return {};
      case 'SendMessage':
        return this.#queue(input).send(input as SendInput);
      case 'ReceiveMessage':
        return this.#receive(this.#queue(input), input as ReceiveInput, response);
      case 'DeleteMessage':
        this.#queue(input).delete(String(input['ReceiptHandle']));
        return {};
      case 'ChangeMessageVisibility':
        this.#queue(input).changeVisibility(String(input['ReceiptHandle']), Number(input['VisibilityTimeout']));
        return {};
      case 'SendMessageBatch': {
        const queue = this.#queue(input);
        const entries = input['Entries'] as readonly SendInput[];
        if (entries.reduce((sum, entry) => sum + sizeOf(entry), 0) > MOST_BATCH_BYTES) {
          throw new SqsFault('BatchRequestTooLong', 'Batch requests cannot be longer than 1048576 bytes.');
        }
        return this.#batch(action, input, (entry) => queue.send(entry as unknown as SendInput));
      }
      case 'DeleteMessageBatch': {
        const queue = this.#queue(input);
        return this.#batch(action, input, ({ ReceiptHandle }) => {
          queue.delete(ReceiptHandle);
          return undefined;
        });
      }
      case 'ChangeMessageVisibilityBatch': {
        const queue = this.#queue(input);
        return this.#batch(action, input, ({ ReceiptHandle, VisibilityTimeout }) => {
          queue.changeVisibility(ReceiptHandle, VisibilityTimeout);
          return undefined;
        });
      }
      default:
        throw new SqsFault('InvalidAction', `There is no action ${action}.`);
    }
  }

  #batch(action: string, input: Input, one: (entry: BatchEntry) => object | undefined): object {
    const entries = input['Entries'] as readonly BatchEntry[];
    if (entries.length === 0) throw new SqsFault('EmptyBatchRequest', 'There is no entry in the request.');
    if (entries.length > 10) throw new SqsFault('TooManyEntriesInBatchRequest', 'Maximum number of entries is 10.');
    if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
      throw new SqsFault('BatchEntryIdsNotDistinct', 'Two or more entries have one Id.');
    }
    const fault = this.#entryFaults.find((given) => given.action === action && given.left > 0);
    if (fault !== undefined) fault.left -= 1;
    const Successful: object[] = [];
    const Failed: object[] = [];
    entries.forEach((entry, place) => {
      const { Id } = entry;
      if (fault?.places.includes(place) === true) {
        Failed.push({ Id, Code: fault.code, Message: 'on demand', SenderFault: fault.senderFault });
        return;
      }
      try {
        Successful.push({ Id, ...one(entry) });
      } catch (error) {
        if (!(error instanceof SqsFault)) throw error;
        Failed.push({ Id, Code: error.code, Message: error.message, SenderFault: true });
      }
    });
    return { Successful, Failed };
  }

  async #receive(queue: SqsQueueModel, input: ReceiveInput, response: ServerResponse): Promise<object> {
    const end = Date.now() + (input.WaitTimeSeconds ?? 0) * 1000;
    for (;;) {
      const Messages = queue.receive(input);
      const left = end - Date.now();
      if (Messages.length > 0 || left <= 0) return Messages.length > 0 ? { Messages } : {};
      await this.#change(Math.min(left, queue.nextVisible - this.now() + 1), response);
      if (response.destroyed || this.#server === undefined) return {};
    }
  }

  /** Resolves when something has changed, after `milliseconds`, or when the client is gone. */
  async #change(milliseconds: number, response: ServerResponse): Promise<void> {
    let wake: () => void = () => undefined;
    const changed = new Promise<void>((resolve) => (wake = resolve));
    const timer = setTimeout(() => wake(), Math.min(milliseconds, 2 ** 31 - 1));
    this.#watchers.add(wake);
    response.once('close', wake);
    await changed;
    clearTimeout(timer);
    response.off('close', wake);
    this.#watchers.delete(wake);
  }

  #queue({ QueueUrl }: Input): SqsQueueModel {
    return this.#named(QueueUrl.replace(/^.*\//, ''));
  }

  #named(name: string): SqsQueueModel {
    const queue = this.queues.get(name);
    if (queue === undefined) throw new SqsFault('QueueDoesNotExist', 'The specified queue does not exist.');
    return queue;
  }
}
