<?php
/** Makes the tables that a Laravel application migrates: `tables.php database PORT`. */
require __DIR__ . '/laravel.php';

use Illuminate\Database\Schema\Blueprint;

$databases->getConnection()->getSchemaBuilder()->create('jobs', function (Blueprint $table) {
    $table->bigIncrements('id');
    $table->string('queue')->index();
    $table->longText('payload');
    $table->unsignedTinyInteger('attempts');
    $table->unsignedInteger('reserved_at')->nullable();
    $table->unsignedInteger('available_at');
    $table->unsignedInteger('created_at');
});
$databases->getConnection()->getSchemaBuilder()->create('failed_jobs', function (Blueprint $table) {
    $table->id();
    $table->string('uuid')->unique();
    $table->text('connection');
    $table->text('queue');
    $table->longText('payload');
    $table->longText('exception');
    $table->timestamp('failed_at')->useCurrent();
});
