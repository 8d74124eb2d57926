/** `@LaravelJob('App\\Jobs\\SendInvoice')`: jobs of one class in two languages. Each side dispatches them, and each can run them. */
import { InvalidPayloadError, Job, type JobFormat, type JobOptions } from '../index';
import { PhpArray, PhpObject, phpText, type PhpValue, readPhpText, unreadable } from './php-text';
import { FromPhp, type Meant, ToPhp } from './php-values';

type Names = readonly string[];
type Classes = Readonly<Record<string, string>>;

/** Options that need a part of the payload or of the store that Laravel does not keep. */
type NotShared = 'name' | 'format' | 'dates' | 'unique' | 'debounce' | 'schedule' | 'version' | 'upgrade';

export interface LaravelJobOptions extends Omit<JobOptions, NotShared> {
  /** The properties that are protected in PHP. */
  protected?: Names | undefined;
  /** The properties that are private in PHP. */
  private?: Names | undefined;
  /** The properties whose numbers are floats in PHP, also where they have no fraction. */
  floats?: Names | undefined;
  /** The properties with cases of an enum, and its class: `{ plan: 'App\\Enums\\Plan' }`. Here a case is its name. */
  enums?: Classes | undefined;
  /** The classes of dates that are not `Illuminate\Support\Carbon` in PHP: `{ at: 'Carbon\\CarbonImmutable' }`. */
  dates?: Classes | undefined;
}

/**
 * Declares the class below as a job that a Laravel application shares.
 *
 * @param name of the class in PHP, such as `App\\Jobs\\SendInvoice`
 */
export function LaravelJob(name: string, options: LaravelJobOptions = {}): ReturnType<typeof Job> {
  const { protected: guarded = [], private: own = [], floats = [], enums = {}, dates = {}, ...job } = options;
  for (const given of [name, ...Object.values(enums), ...Object.values(dates)]) {
    if (/^[^\W\d]\w*(?:\\[^\W\d]\w*)*$/.test(given)) continue;
    throw new TypeError(`@LaravelJob: '${given}' is no class of PHP. Write it as 'App\\\\Jobs\\\\SendInvoice'.`);
  }
  const expected = [...new Set([...guarded, ...own, ...floats, ...Object.keys(enums), ...Object.keys(dates)])];
  const meant = (property: string): Meant => ({
    float: floats.includes(property),
    enum: Object.hasOwn(enums, property) ? enums[property] : undefined,
    date: Object.hasOwn(dates, property) ? dates[property] : undefined,
  });
  const mangled = (property: string): string => {
    if (own.includes(property)) return `\0${name}\0${property}`;
    return guarded.includes(property) ? `\0*\0${property}` : property;
  };
  const format: JobFormat = {
    expected,
    write(properties, subject, file) {
      const entries = Object.entries(properties).map(([property, value]): [string, PhpValue] => [
        mangled(property),
        new ToPhp(meant(property), file).write(value, `${subject}.${property}`),
      ]);
      const command = phpText(new PhpObject(name, new Map(entries)));
      return { job: 'Illuminate\\Queue\\CallQueuedHandler@call', data: { commandName: name, command } };
    },
    read: readCommand,
  };
  return Job({ ...job, name, format });
}

/** What Laravel keeps in a job, beside the job's own data. */
const LARAVELS: ReadonlySet<string> = new Set([
  ...['job', 'connection', 'queue', 'delay', 'afterCommit', 'middleware', 'messageGroup', 'deduplicator'],
  ...['chained', 'chainConnection', 'chainQueue', 'chainCatchCallbacks', 'batchId', 'fakeBatch'],
  ...['tries', 'timeout', 'backoff', 'maxExceptions', 'failOnTimeout', 'retryUntil', 'shouldBeEncrypted'],
  ...['deleteWhenMissingModels', 'uniqueId', 'uniqueFor'],
]);

/** Base64 of `{"iv":`. */
const ENCRYPTED = /^eyJpdiI6/;

function readCommand(data: unknown): Record<string, unknown> | string {
  const { commandName, command, batchId } = Object(data) as Readonly<Record<string, unknown>>;
  if (typeof command !== 'string') throw new InvalidPayloadError("expected PHP's text", '/data/command');
  if (ENCRYPTED.test(command)) return "its data are encrypted with Laravel's key";
  const job = readPhpText(command);
  if (!(job instanceof PhpObject) || job.name !== commandName) unreadable(`it is no ${String(commandName)}`);
  const { properties } = job;
  const has = (property: string): boolean => sizeOf(properties.get(property)) > 0;
  if (has('chained') || has('chainCatchCallbacks')) return 'it belongs to a chain of Laravel';
  if (typeof (batchId ?? properties.get('batchId')) === 'string') return 'it belongs to a batch of Laravel';
  const values = new FromPhp();
  const own = Array.from(properties).filter(([property]) => !LARAVELS.has(property));
  return Object.fromEntries(own.map(([property, value]) => [property, values.read(value)]));
}

const sizeOf = (value: PhpValue | undefined): number => (value instanceof PhpArray ? value.entries.size : 0);
