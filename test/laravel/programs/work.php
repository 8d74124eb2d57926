<?php
/** A worker of Laravel on one queue, until its standard input ends: `work.php redis|database PORT QUEUE`. */
require __DIR__ . '/laravel.php';

use function App\Jobs\say;

$queue = $argv[3];
$handler = new class implements Illuminate\Contracts\Debug\ExceptionHandler {
    public function report(Throwable $e) { say('threw', ['error' => $e->getMessage()]); }
    public function shouldReport(Throwable $e) { return true; }
    public function render($request, Throwable $e) {}
    public function renderForConsole($output, Throwable $e) {}
};
$worker = new Illuminate\Queue\Worker($queues, $events, $handler, fn () => false);
$options = new Illuminate\Queue\WorkerOptions;
$options->sleep = 0.01;
stream_set_blocking(STDIN, false);
say('ready');
while (!feof(STDIN)) {
    fread(STDIN, 1);
    $worker->runNextJob('default', $queue, $options);
}
