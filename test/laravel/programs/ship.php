<?php
/** Dispatches a job with the trait of the documentation: `ship.php redis|database PORT TRAIT`. */
namespace App\Jobs;

require __DIR__ . '/laravel.php';
require $argv[3];

class ShipOrder {
    use Concerns\RunsInNode;

    public function __construct(private int $order, protected \DateTimeInterface $at, public ?string $note = null) {}
}

ShipOrder::dispatch(7, new \DateTimeImmutable('2026-11-21T10:00:00.123456+01:00'));
