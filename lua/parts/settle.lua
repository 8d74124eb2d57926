-- settle.lua: writes that a reservation was released or failed, or ended with jobs that follow it, with a unique key or
--   in a batch.
--
--   after failed.lua, unique.lua, ties.lua, batches.lua, aside.lua, follow.lua; needs tied.lua

-- The number of arguments of an outcome, without the extra ones that its kind names.
local WIDTHS = { completed = 1, released = 4, failed = 5 }

local function release(turn, queue, text, delay)
  local is_front = delay == 'front'
  local due = is_front and turn.moment or due_at(turn.moment, delay)
  if due <= turn.moment then
    call(is_front and 'LPUSH' or 'RPUSH', queue.ready, text)
    queue.filled = true
    return
  end
  make_wait(turn, queue, due, text, comes_first(queue, due))
end

-- Keeps the job as failed, and returns the id of the entry.
local function fail(turn, queue, text, id, meta)
  -- Another job with the same id that was kept before stays.
  if call('ZSCORE', queue.failed, id) then id = give_id(turn) end
  keep_failed(queue.failed, queue.failed_jobs, id, turn.moment, meta, text)
  return id
end

-- Writes the new state, and removes the old one last.
local function write_outcome(turn, queue, kind, at, followers, held)
  local token = ARGV[at]
  local text = kind ~= 'completed' and sub(token, 1, tonumber(ARGV[at + 1])) .. ARGV[at + 2]
  if kind == 'released' then release(turn, queue, text, ARGV[at + 3]) end
  local id = kind == 'failed' and fail(turn, queue, text, ARGV[at + 3], ARGV[at + 4])
  local done, problem = true, nil
  if followers then done, problem = pcall(need('write_followers'), turn, followers) end
  if not done then
    -- The next try would keep it once more, under another id.
    if id then
      redis.pcall('ZREM', queue.failed, id)
      redis.pcall('HDEL', queue.failed_jobs, id)
    end
    error(problem)
  end
  local removed = call('ZREM', queue.reserved, token)
  free(turn.unique, held)
  if kind == 'released' and held == nil and find(text, TIES, -TIES_WINDOW - WINDOW, true) then
    need('retake_released')(turn, token, text)
  end
  return removed
end

-- Changes a batch by `count` outcomes of one kind, then calls `rest`. `batch`: its id, and the change for each
-- outcome. Nil: the outcomes belong to no batch.
local function with_batch(turn, batch, count, cause, rest, ...)
  local step = batch and step_by_id(turn.batches, turn.cancelled_batches, batch.id, {
    pending = count * batch.pending, completed = count * batch.completed, failed = count * batch.failed,
    skipped = count * batch.skipped, cause = cause,
  }, turn.moment)
  if not step then return rest(...) end
  local result = carry_out({ step }, rest, ...)
  turn.any_batch_cancelled = turn.any_batch_cancelled or step.is_marked
  return result
end

-- Reads, checks that it may remove, and writes: if anything is refused, the job stays reserved. `key`: the job's
-- unique key, with its tie.
local function move(turn, queue, kind, at, followers, key, tie, batch, cause)
  local token = ARGV[at]
  ask_to_remove(queue.reserved)
  if not call('ZSCORE', queue.reserved, token) then return 0 end
  if kind == 'failed' then check_failed(queue.failed, queue.failed_jobs) end
  if followers then need('check_followers')(turn, followers) end
  -- False: it holds no key, or not any more.
  local held = nil
  if key then held = ask_to_leave(turn.unique, { key }, { tie }) or false end
  if not batch then return write_outcome(turn, queue, kind, at, followers, held) end
  return need('with_batch')(turn, batch, 1, cause, write_outcome, turn, queue, kind, at, followers, held)
end

local function write_completed(turn, queue, gone, texts, held)
  if #texts > 0 then
    -- This command is its own check of the right to push.
    call('RPUSH', queue.ready, unpack(texts))
    queue.filled = true
  end
  call('ZREM', queue.reserved, unpack(gone))
  free(turn.unique, held)
end

-- Completes jobs of one queue and one batch; if `is_followed`, each is followed by one job that is ready at once in
-- that queue. All in one step, in the same order as above.
local function end_batched(turn, queue, first, count, width, is_followed, key_at, batch)
  local tokens = {}
  for i = 1, count do tokens[i] = ARGV[first + (i - 1) * width] end
  ask_to_remove(queue.reserved)
  local scores = call('ZMSCORE', queue.reserved, unpack(tokens))
  local results, gone, seen, texts, keys, ties = {}, {}, {}, {}, {}, {}
  for i = 1, count do
    local token, at = tokens[i], first + (i - 1) * width
    results[i] = scores[i] and not seen[token] and 1 or 0
    if results[i] == 1 then
      local place = #gone + 1
      seen[token], gone[place] = true, token
      if is_followed then texts[place] = ARGV[at + 1] end
      if key_at then keys[place], ties[place] = ARGV[at + key_at], ARGV[at + key_at + 1] end
    end
  end
  if #gone == 0 then return results end
  local held = key_at and ask_to_leave(turn.unique, keys, ties)
  need('with_batch')(turn, batch, #gone, nil, write_completed, turn, queue, gone, texts, held)
  return results
end

-- The batch of outcomes whose arguments begin at `first`.
local function batch_at(first)
  return {
    id = ARGV[first], pending = ARGV[first + 1], completed = ARGV[first + 2], failed = ARGV[first + 3],
    skipped = ARGV[first + 4],
  }
end

-- Settles `count` outcomes of a kind, whose arguments begin at `first`, the first one with the jobs that follow it.
-- Returns where the arguments of the first outcome begin, how many each has, and a result for each, as of ZREM: 1, 0
-- if the reservation is gone, or an error. For completed jobs without a batch and without such followers see ends.lua.
local function settle(turn, queue, kind, first, count, followers)
  local outcome = string.match(kind, '^%a+')
  local is_followed, is_unique = find(kind, '+next', 1, true), find(kind, '+unique', 1, true)
  local batch = find(kind, '+batch', 1, true) and batch_at(first)
  if batch then first = first + 5 end
  local width = WIDTHS[outcome] + (is_followed and 1 or 0)
  local key_at = is_unique and width
  if is_unique then width = width + 2 end
  local cause_at = batch and outcome == 'failed' and width
  if cause_at then width = width + 1 end
  if find(kind, '+lane', 1, true) then width = width + 1 end
  local results = {}
  if outcome == 'completed' and not followers then
    local done, result = pcall(need('end_batched'), turn, queue, first, count, width, is_followed, key_at, batch)
    if done then return first, width, result end
    for i = 1, count do results[i] = result end
    return first, width, results
  end
  for i = 1, count do
    local at = first + (i - 1) * width
    local key, tie = key_at and ARGV[at + key_at], key_at and ARGV[at + key_at + 1]
    local next_jobs, cause = i == 1 and followers or nil, cause_at and ARGV[at + cause_at]
    local _, result = pcall(move, turn, queue, outcome, at, next_jobs, key, tie, batch, cause)
    results[i] = result
  end
  return first, width, results
end
