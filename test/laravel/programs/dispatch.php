<?php
/** Dispatches jobs as a Laravel application does: `dispatch.php redis|database PORT QUEUE COUNT`, or `… examples`. */
require __DIR__ . '/laravel.php';

use App\Enums\Plan;
use App\Jobs\SendInvoice;
use Illuminate\Support\Carbon;

[, , , $queue, $count] = $argv;

if ($count === 'examples') {
    $at = new Carbon('2026-11-21 10:00:00.123456', 'Europe/Berlin');
    $due = new DateTimeImmutable('2026-11-21T10:00:00+05:30');
    $user = new App\Models\User(7, ['posts'], 'main');
    $bus->dispatch((new SendInvoice(1, "é 😀 \0 \"};", [['sku' => 'A', 'n' => 2]], $at, $due, Plan::Paid, 2.0, [1.0, 2.5], PHP_INT_MAX, $user))->onQueue($queue));
    $bus->dispatch((new SendInvoice(2))->onQueue($queue)->delay(1));
    $bus->dispatch((new SendInvoice(3, 'fails'))->onQueue($queue));
    $bus->dispatch((new SendInvoice(4))->onQueue($queue)->chain([new SendInvoice(5)]));
} else {
    for ($number = 1; $number <= (int) $count; $number++) {
        $bus->dispatch((new SendInvoice($number, "php $number", [$number, ['half' => $number / 2]], new Carbon("@$number"), null, Plan::Free, (float) $number))->onQueue($queue));
    }
}
