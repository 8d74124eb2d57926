/** What must and must not compile in a configuration. Checked by the compiler; never run. */
import {
  type BeanstalkdConfig,
  type Configuration,
  defineConfig,
  type ErrorCallback,
  type ErrorContext,
  type JobInstance,
  type PayloadCreator,
  Queue,
  type SqsCredentials,
  type StoreConfig,
  Worker,
} from 'onqueue';

const connections = { main: { driver: 'redis' }, archive: { driver: 'memory' } } as const;

export const named = defineConfig({ default: 'main', failed: 'archive', connections });
// The names may come from the environment.
export const chosen = defineConfig({
  default: process.env['QUEUE'] ?? 'main',
  failed: process.env['FAILED'] ?? 'archive',
  connections,
});
export const plain: Configuration = { default: 'main', connections };
Queue.configure(named);
Queue.configure(chosen);
Queue.configure(plain);
Queue.configure({ default: process.env['QUEUE'], connections });

// @ts-expect-error -- no connection has that name
defineConfig({ default: 'man', connections });

// @ts-expect-error -- nor of this one
Queue.configure({ default: 'main', failed: 'archives', connections });

// A connection that is only there in some environments.
const redis = { driver: 'redis' } as const;
export const sometimes = defineConfig({
  default: 'redis',
  connections: { redis, ...(process.env['LOCAL'] ? { local: { driver: 'memory' } as const } : {}) },
});
Queue.configure(sometimes);

// --- Types that a program may name for its own variables ---

export const beanstalkd: BeanstalkdConfig = { driver: 'beanstalkd', url: 'beanstalk://127.0.0.1:11300' } as const;
export const store: StoreConfig = { queue: 'mail', retryAfter: '1m' };
export const credentials = (): Promise<SqsCredentials> => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 'b' });
const tell: ErrorCallback = (error, { during, job }: ErrorContext) => console.error(during, job?.id, error);
const tenant: PayloadCreator = (connection, queue, job) => ({ tenant: [connection, queue, job] });
Queue.onError(tell);
Queue.createPayloadUsing(tenant);
export const send = (job: JobInstance): Promise<string> => Queue.push(job);

new Worker({ once: true });
// @ts-expect-error -- only the command line may do this
new Worker({ once: true }, undefined, { endsProcess: true });

defineConfig({ connections: { main: { driver: 'memory' } }, history: { completed: '1h', sourceLines: false } });
defineConfig({ connections: { main: { driver: 'memory' } }, history: false });

// @ts-expect-error -- leave it out
defineConfig({ connections: { main: { driver: 'memory' } }, history: true });
