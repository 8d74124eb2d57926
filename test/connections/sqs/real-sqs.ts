/** SQS from the environment: AWS or a compatible service. Its clock cannot be moved, so tests wait. */
import { CreateQueueCommand, DeleteQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '../../../src/base/clock';
import { SqsConnection } from '../../../src/connections/sqs/connection';
import type { SqsConfig } from '../../../src/connections/sqs/driver';
import { contextOf } from './open-sqs';

const { SQS_REGION: region, SQS_ENDPOINT: endpoint } = process.env;

/** Whether the environment configures one. The SDK finds the credentials. */
export const hasRealSqs = region !== undefined || endpoint !== undefined;

export class RealSqs {
  readonly #options = { ...(region !== undefined && { region }), ...(endpoint !== undefined && { endpoint }) };
  readonly #client = new SQSClient(this.#options);
  readonly #run = `onqueue-${Date.now().toString(36)}`;
  readonly #open: SqsConnection[] = [];
  #urls: string[] = [];

  async createQueue(name: string): Promise<void> {
    const Attributes = name.endsWith('.fifo') ? { FifoQueue: 'true' } : {};
    const created = await this.#client.send(new CreateQueueCommand({ QueueName: this.#named(name), Attributes }));
    this.#urls.push(created.QueueUrl!);
  }

  connect({ suffix = '', ...config }: Partial<SqsConfig>): SqsConnection {
    const own = { driver: 'sqs', ...this.#options, suffix: this.#named(suffix), ...config } as const;
    const connection = new SqsConnection(own, contextOf());
    this.#open.push(connection);
    return connection;
  }

  async advance(seconds: number): Promise<void> {
    await new Promise<void>((resolve) => void systemClock.after(seconds * 1000, resolve, true));
  }

  /** Closes the connections and removes the queues. */
  async close(): Promise<void> {
    await Promise.all(this.#open.splice(0).map((connection) => connection.close()));
    const urls = this.#urls.splice(0);
    await Promise.all(urls.map((QueueUrl) => this.#client.send(new DeleteQueueCommand({ QueueUrl }))));
  }

  async stop(): Promise<void> {
    await this.close();
    this.#client.destroy();
  }

  /** The suffix of a case is preceded by a text that distinguishes the queues of this run. */
  #named(name: string): string {
    return name.replace(/-(\d+)(\.fifo)?$/, `-${this.#run}-$1$2`);
  }
}
