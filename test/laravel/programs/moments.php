<?php
/** Prints 5,000 moments in many zones, each as base64 of its text, and in seconds since 1970 as PHP reads it from that text. */
mt_srand(20261127);
$zones = [...array_map(fn ($hours) => sprintf('%+03d:30', $hours), range(-11, 13)), ...DateTimeZone::listIdentifiers()];
for ($i = 0; $i < 5000; $i++) {
    $zone = new DateTimeZone($zones[mt_rand(0, count($zones) - 1)]);
    $text = serialize((new DateTimeImmutable('@' . mt_rand(0, 2000000000)))->setTimezone($zone));
    echo base64_encode($text), ' ', unserialize($text)->getTimestamp(), "\n";
}
