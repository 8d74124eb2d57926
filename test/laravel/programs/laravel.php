<?php
/** The queue of a Laravel application, from its packages: on the Redis or the PostgreSQL at a local port. */
foreach (['Queue', 'Redis', 'Events', 'Database', 'Bus', 'Container', 'Support'] as $part) {
    $file = "/usr/share/php/Illuminate/$part/autoload.php";
    if (is_file($file)) require_once $file;
}
require __DIR__ . '/jobs.php';

use Illuminate\Container\Container;
use Illuminate\Contracts;
use Illuminate\Queue\Connectors;

[, $driver, $port] = $argv;

$app = new class extends Container {
    public function isDownForMaintenance() { return false; }
    public function environment(...$names) { return 'test'; }
};
Container::setInstance($app);
Illuminate\Support\Facades\Facade::setFacadeApplication($app);
$events = new Illuminate\Events\Dispatcher($app);
$queues = new Illuminate\Queue\QueueManager($app);
foreach ([Container::class, Contracts\Container\Container::class] as $name) $app->instance($name, $app);
foreach (['events', Contracts\Events\Dispatcher::class] as $name) $app->instance($name, $events);
foreach (['queue', Contracts\Queue\Factory::class] as $name) $app->instance($name, $queues);
$connection = ['driver' => $driver, 'connection' => 'default', 'table' => 'jobs', 'queue' => 'default', 'retry_after' => 90];
$app->instance('config', new Illuminate\Support\Fluent(['queue.default' => 'default', 'queue.connections.default' => $connection]));

if ($driver === 'redis') {
    $server = ['host' => '127.0.0.1', 'port' => (int) $port, 'database' => 0];
    $redis = new Illuminate\Redis\RedisManager($app, 'phpredis', ['default' => $server, 'options' => []]);
    $queues->addConnector('redis', fn () => new Connectors\RedisConnector($redis));
} else {
    $databases = new Illuminate\Database\Capsule\Manager($app);
    $databases->addConnection(['driver' => 'pgsql', 'host' => '127.0.0.1', 'port' => $port, 'database' => 'postgres', 'username' => 'onqueue', 'charset' => 'utf8']);
    $queues->addConnector('database', fn () => new Connectors\DatabaseConnector($databases->getDatabaseManager()));
}

$bus = new Illuminate\Bus\Dispatcher($app, fn ($name = null) => $queues->connection($name));
foreach ([Contracts\Bus\Dispatcher::class, Contracts\Bus\QueueingDispatcher::class, Illuminate\Bus\Dispatcher::class] as $name) $app->instance($name, $bus);
