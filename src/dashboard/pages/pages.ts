/** The pages, by their addresses. */
import type { Page } from '../view';
import { batch } from './batch';
import { batches } from './batches';
import { failed } from './failed';
import { job } from './job';
import { jobClass, jobs } from './job-classes';
import { retrying, scheduled } from './later';
import { overview } from './overview';
import { queue } from './queue';
import { queues } from './queues';
import { running } from './running';
import { runs } from './runs';
import { schedules } from './schedules';
import { search } from './search';
import { workers } from './workers';

/** None is called `jobs` or `queues`: people mount the dashboard there, and the slash after that may be missing. */
export const PAGES: Readonly<Record<string, Page>> = {
  '': overview,
  failed,
  job,
  'job-classes': jobs,
  'job-class': jobClass,
  runs,
  running,
  scheduled,
  retrying,
  queue,
  'all-queues': queues,
  workers,
  schedules,
  batches,
  batch,
  search,
};

/** Pages that are made on request, and not updated while they are shown. */
export const STILL: ReadonlySet<string> = new Set(['search']);
