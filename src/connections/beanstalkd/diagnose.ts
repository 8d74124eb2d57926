/** Finds what may lose or stop jobs in a beanstalkd, for `onqueue check`. */
import type { Diagnosis } from '../contract';
import { latencyOf } from '../kit/requirements';
import type { BeanstalkdCaller } from './caller';
import { fieldsOf, type Fields } from './link';

export async function diagnoseBeanstalkd(caller: BeanstalkdCaller, maxPayload: number): Promise<readonly Diagnosis[]> {
  const ask = () => caller.ask('stats', 'its state was not read');
  const facts = fieldsOf((await ask()).body);
  return [
    version(facts),
    persistence(facts),
    size(facts, maxPayload),
    ...draining(facts),
    ...buried(facts),
    await latencyOf(caller.settings.clock, 'two', ask),
  ];
}

// A server that is too old fails earlier.
function version(facts: Fields): Diagnosis {
  return { level: 'ok', subject: 'version', message: `beanstalkd ${facts.get('version')}` };
}

/** Whether a server keeps its jobs across a restart. */
export const isDurable = (facts: Fields): boolean => Number(facts.get('binlog-current-index')) > 0;

function persistence(facts: Fields): Diagnosis {
  const subject = 'persistence';
  if (isDurable(facts)) return { level: 'ok', subject, message: 'binlog' };
  return {
    level: 'warning',
    subject,
    message: 'none: a restart of beanstalkd loses all jobs. Start it with -b and a folder.',
    endangersJobs: true,
  };
}

function size(facts: Fields, maxPayload: number): Diagnosis {
  const limit = Number(facts.get('max-job-size'));
  const small = limit < maxPayload;
  const remedy = `; maxPayload is ${maxPayload}. Start it with -z ${maxPayload}, or lower maxPayload.`;
  return {
    level: small ? 'warning' : 'ok',
    subject: 'max-job-size',
    message: `a job may have ${limit} bytes${small ? remedy : ''}`,
  };
}

function draining(facts: Fields): readonly Diagnosis[] {
  if (facts.get('draining') !== 'true') return [];
  const message = 'it takes no more jobs, as it was told to by SIGUSR1. Restart it.';
  return [{ level: 'error', subject: 'draining', message }];
}

function buried(facts: Fields): readonly Diagnosis[] {
  const count = Number(facts.get('current-jobs-buried') ?? 0);
  if (count === 0) return [];
  const message = `${count}: set aside by a worker; nobody runs them until they are kicked`;
  return [{ level: 'warning', subject: 'buried jobs', message }];
}
