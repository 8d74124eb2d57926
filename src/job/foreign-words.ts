/** What people coming from BullMQ or Laravel probably meant by a key that we do not have. */

const LEASE = "retryAfter, the lease: how long a job stays with a worker that has gone silent, such as '30s'";
const JOB_OPTION = 'it belongs in @Job()';
const WORKER_OPTION = 'it belongs to the worker: new Worker({ … }), or a flag of `onqueue work`';
const RATE = "a rate limit is a layer of a job: rateLimited('psp', { allow: 30, every: '1m' })";
const RATE_LIMITED = "write middleware() { return [rateLimited('psp', { allow: 30, every: '1m' })]; }";
const WITHOUT_OVERLAPPING = 'write middleware() { return [withoutOverlapping(this.customer)]; }';
const THROTTLE_EXCEPTIONS =
  "write middleware() { return [throttleExceptions({ after: 5, within: '1m', wait: '5m' })]; }";
const ADDRESS = "the address belongs beside driver: url: 'redis://host:6379/0', or host and port";

export const MEANT_IN_CONNECTION: ReadonlyMap<string, string> = new Map([
  ['retry_after', `write ${LEASE}`],
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}`],
  ['visibilityTimeout', `here it is ${LEASE}`],
  ['stalledInterval', `every worker finds expired leases; the time is set by ${LEASE}`],
  ['lockRenewTime', `leases are renewed automatically; their length is ${LEASE}`],
  ['maxStalledCount', `here it is maxCrashes; ${JOB_OPTION}`],
  ['block_for', 'not needed: workers wait without polling'],
  ['migration_batch_size', 'not needed: jobs that are due are moved in bounded steps'],
  ['attempts', `here it is tries; ${JOB_OPTION}`],
  ['tries', JOB_OPTION],
  ['backoff', JOB_OPTION],
  ['timeout', JOB_OPTION],
  ['delay', JOB_OPTION],
  ['defaultJobOptions', 'job options belong in @Job(); attempts is called tries'],
  ['removeOnComplete', 'not needed: completed jobs are removed, failed ones kept until they are pruned'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['concurrency', WORKER_OPTION],
  ['connection', ADDRESS],
  ['redis', ADDRESS],
  ['uri', ADDRESS],
  ['database', `for Redis write db, the number of the database; for SQLite write url: 'sqlite:./onqueue.sqlite'`],
  ['file', `write url: 'sqlite:./onqueue.sqlite'`],
  ['filename', `write url: 'sqlite:./onqueue.sqlite'`],
  ['connectionString', 'write url'],
  ['keyPrefix', 'write prefix'],
  ['maxRetriesPerRequest', 'not needed: Onqueue sets the options it depends on'],
  ['nodes', 'write cluster'],
  ['sizeLimit', `BullMQ's sizeLimit is maxPayload, such as '4mb'`],
]);

export const MEANT_IN_CONFIGURATION: ReadonlyMap<string, string> = new Map([
  ['connection', 'write connections, an object by name, and default, the name that is meant'],
  ['drivers', 'write connections'],
  ['driver', `a driver belongs in a connection: connections: { main: { driver: 'redis' } }`],
  ['redis', `a connection belongs in connections: { redis: { driver: 'redis', url: 'redis://…' } }`],
  ['url', `an address belongs in a connection: connections: { redis: { driver: 'redis', url: 'redis://…' } }`],
  ['queue', `a queue name belongs in a connection: connections: { redis: { driver: 'redis', queue: 'default' } }`],
  ['prefix', `the prefix belongs in a connection: connections: { redis: { driver: 'redis', prefix: 'queues:' } }`],
  ['retryAfter', `it belongs in a connection: connections: { redis: { driver: 'redis', retryAfter: '30s' } }`],
  ['retry_after', `it belongs in a connection: connections: { redis: { driver: 'redis', retryAfter: '30s' } }`],
  ['failedJobs', 'write failed, the name of a connection'],
  ['attempts', `here it is tries; ${JOB_OPTION}`],
  ['tries', JOB_OPTION],
  ['concurrency', WORKER_OPTION],
  ['imports', 'write jobs, an array of classes'],
  ['sizeLimit', `BullMQ's sizeLimit is maxPayload, such as '4mb'`],
]);

export const MEANT_IN_WORKER: ReadonlyMap<string, string> = new Map([
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}; it belongs in the connection`],
  ['lockRenewTime', 'leases are renewed automatically'],
  ['stalledInterval', 'every worker finds expired leases'],
  ['maxStalledCount', `here it is maxCrashes; ${JOB_OPTION}`],
  ['limiter', `${RATE}, in middleware() of the job`],
  ['autorun', 'a worker runs when you call run()'],
  ['prefix', 'it belongs in the connection: connections: { redis: { prefix } }'],
  ['removeOnComplete', 'not needed: completed jobs are removed'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['settings', 'for a custom backoff write a method of the job: backoff(error)'],
  ['drainDelay', 'not needed: workers wait without polling'],
  ['stopOnEmpty', 'write stopWhenEmpty'],
]);

const LANE = 'here it is lane: { by: (job: Sync) => job.tenant, running: 3 }';

export const MEANT_IN_JOB: ReadonlyMap<string, string> = new Map([
  ['group', LANE],
  ['groupId', LANE],
  ['concurrencyKey', LANE],
  ['limits_concurrency', LANE],
  ['limitsConcurrency', LANE],
  ['removeOnComplete', 'not needed: completed jobs are removed'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['repeat', "here it is schedule: { cron: '0 3 * * *' } or { every: '15m' }"],
  [
    'lifo',
    'a queue keeps its order; put urgent jobs into their own queue and let workers name it first: --queue=high,default',
  ],
  ['priority', 'put urgent jobs into their own queue and let workers name it first: --queue=high,default'],
  ['jobId', 'each dispatch gets an id of its own; unique keeps a second job of a kind from being sent'],
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}; it belongs in the connection`],
  ['middleware', 'it is a method of the job: middleware() { return [ … ]; }'],
  ['limiter', RATE_LIMITED],
  ['rateLimit', RATE_LIMITED],
  ['rateLimited', RATE_LIMITED],
  ['RateLimited', RATE_LIMITED],
  ['throttle', RATE_LIMITED],
  ['withoutOverlapping', WITHOUT_OVERLAPPING],
  ['WithoutOverlapping', WITHOUT_OVERLAPPING],
  ['throttleExceptions', THROTTLE_EXCEPTIONS],
  ['ThrottlesExceptions', THROTTLE_EXCEPTIONS],
  ['concurrency', WORKER_OPTION],
]);
