/** The program of a process that requires one module, and says how long it took and what was loaded. */
const DRIVERS = /[\\/]node_modules[\\/](ioredis|libsql|pg|mysql2|jackd|@aws-sdk)[\\/]/;

const residentBefore = process.memoryUsage.rss();
const cpuBefore = process.cpuUsage();
const started = performance.now();
require(process.argv[2]);
const milliseconds = performance.now() - started;
const { user, system } = process.cpuUsage(cpuBefore);
const files = Object.keys(require.cache);
const drivers = new Set(files.map((file) => DRIVERS.exec(file)?.[1]).filter(Boolean));
const resident = process.memoryUsage.rss() - residentBefore;
// Without this file.
console.log(
  JSON.stringify({
    milliseconds,
    cpu: (user + system) / 1_000,
    modules: files.length - 1,
    drivers: drivers.size,
    resident,
  }),
);
// Some leave timers behind.
process.exit();
