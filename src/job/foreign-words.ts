/** What somebody who comes from BullMQ or Laravel may have meant by a key that is not ours. */

const LEASE = "retryAfter, the lease: how long a job stays with a worker that has gone silent, such as '30s'";
const JOB_OPTION = 'it belongs in @Job()';
const WORKER_OPTION = 'it belongs to the worker: new Worker({ … }), or a flag of `onqueue work`';
const ADDRESS = "the address stands beside driver: url: 'redis://host:6379/0', or host and port";

const IN_CONNECTION: ReadonlyMap<string, string> = new Map([
  ['retry_after', `write ${LEASE}`],
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}`],
  ['visibilityTimeout', `here it is ${LEASE}`],
  ['stalledInterval', `leases that ran out are found by every worker; what sets the time is ${LEASE}`],
  ['lockRenewTime', `leases are renewed by themselves; their length is ${LEASE}`],
  ['maxStalledCount', `here it is maxCrashes; ${JOB_OPTION}`],
  ['block_for', 'not needed: workers wait without polling'],
  ['migration_batch_size', 'not needed: jobs that are due are moved in bounded steps'],
  ['attempts', `here it is tries; ${JOB_OPTION}`],
  ['tries', JOB_OPTION],
  ['backoff', JOB_OPTION],
  ['timeout', JOB_OPTION],
  ['delay', JOB_OPTION],
  ['defaultJobOptions', 'options of a job stand in its @Job(); attempts is called tries'],
  ['removeOnComplete', 'not needed: completed jobs are removed, failed ones kept until they are pruned'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['concurrency', WORKER_OPTION],
  ['connection', ADDRESS],
  ['redis', ADDRESS],
  ['uri', ADDRESS],
  ['database', `Redis: db, the number of the database. SQLite: url: 'sqlite:./onqueue.sqlite'`],
  ['file', `write url: 'sqlite:./onqueue.sqlite'`],
  ['filename', `write url: 'sqlite:./onqueue.sqlite'`],
  ['connectionString', 'write url'],
  ['keyPrefix', 'write prefix'],
  ['maxRetriesPerRequest', 'not needed: what the queue depends on is set by it'],
  ['nodes', 'write cluster'],
  ['sizeLimit', `BullMQ's sizeLimit is maxPayload, such as '4mb'`],
]);

const IN_CONFIGURATION: ReadonlyMap<string, string> = new Map([
  ['connection', 'write connections, an object by name, and default, the name that is meant'],
  ['drivers', 'write connections'],
  ['driver', `a driver stands in a connection: connections: { main: { driver: 'redis' } }`],
  ['redis', `a connection stands in connections: { redis: { driver: 'redis', url: 'redis://…' } }`],
  ['url', `an address stands in a connection: connections: { redis: { driver: 'redis', url: 'redis://…' } }`],
  ['queue', `a queue's name stands in a connection: connections: { redis: { driver: 'redis', queue: 'default' } }`],
  ['prefix', `the prefix stands in a connection: connections: { redis: { driver: 'redis', prefix: 'queues:' } }`],
  ['retryAfter', `it stands in a connection: connections: { redis: { driver: 'redis', retryAfter: '30s' } }`],
  ['retry_after', `it stands in a connection: connections: { redis: { driver: 'redis', retryAfter: '30s' } }`],
  ['failedJobs', 'write failed, the name of a connection'],
  ['attempts', `here it is tries; ${JOB_OPTION}`],
  ['tries', JOB_OPTION],
  ['concurrency', WORKER_OPTION],
  ['imports', 'write jobs, an array of classes'],
  ['sizeLimit', `BullMQ's sizeLimit is maxPayload, such as '4mb'`],
]);

const IN_WORKER: ReadonlyMap<string, string> = new Map([
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}; it stands in the connection`],
  ['lockRenewTime', 'leases are renewed by themselves'],
  ['stalledInterval', 'leases that ran out are found by every worker'],
  ['maxStalledCount', `here it is maxCrashes; ${JOB_OPTION}`],
  ['limiter', 'a limit of jobs for each time is none of a worker yet; concurrency bounds how many run at once'],
  ['autorun', 'a worker runs when you call run()'],
  ['prefix', 'it stands in the connection: connections: { redis: { prefix } }'],
  ['removeOnComplete', 'not needed: completed jobs are removed'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['settings', "a backoff of one's own is a method of the job: backoff(error)"],
  ['drainDelay', 'not needed: workers wait without polling'],
  ['stopOnEmpty', 'write stopWhenEmpty'],
]);

const IN_JOB: ReadonlyMap<string, string> = new Map([
  ['removeOnComplete', 'not needed: completed jobs are removed'],
  ['removeOnFail', 'not needed: failed jobs are kept until they are pruned (Queue.failed.prune)'],
  ['repeat', 'jobs are not repeated by themselves: dispatch it from cron, or anew at the end of handle() with a delay'],
  [
    'lifo',
    'a queue keeps its order; give what is urgent a queue of its own, and name that first: queue: [...] of the worker',
  ],
  ['priority', 'give what is urgent a queue of its own, and name that first: --queue=high,default'],
  [
    'jobId',
    'an id is given by the dispatch, and is its own for each job; of what there is to be one at a time, unique says',
  ],
  ['lockDuration', `BullMQ's lockDuration is ${LEASE}; it stands in the connection`],
  [
    'limiter',
    'a limit of jobs for each time is none of a job yet; concurrency of the worker bounds how many run at once',
  ],
  ['concurrency', WORKER_OPTION],
]);

export function meantInWorker(key: string): string | undefined {
  return IN_WORKER.get(key);
}

export function meantInJob(key: string): string | undefined {
  return IN_JOB.get(key);
}

export function meantInConnection(key: string): string | undefined {
  return IN_CONNECTION.get(key);
}

export function meantInConfiguration(key: string): string | undefined {
  return IN_CONFIGURATION.get(key);
}
