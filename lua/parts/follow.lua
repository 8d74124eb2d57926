-- follow.lua: writes the jobs that follow an outcome, in the same step as the outcome.
--
--   needs texts.lua, aside.lua, passage.lua

-- Whether a job becomes due before all jobs that already wait.
local function comes_first(queue, due)
  return call('ZCOUNT', queue.delayed, '-inf', '(' .. score(due)) == 0
end

-- Adds a delayed job. A waiting job with the very same text would swallow it, so it is given an id.
local function make_wait(turn, queue, due, text, is_first)
  queue.first_due = queue.first_due or is_first
  if call('ZADD', queue.delayed, 'NX', score(due), text) == 0 then
    call('ZADD', queue.delayed, score(due), need('with_id')(text, need('give_id')(turn)))
  end
end

-- Reads followers whose arguments begin at `at`, all for one queue, and appends them to those read before. `in_lanes`:
-- whether each has a lane.
local function read_followers(followers, queue, at, count, in_lanes)
  followers = followers or {}
  for entry = at, at + 2 * (count - 1), 2 do
    followers[#followers + 1] = {
      queue = queue, delay = ARGV[entry], text = ARGV[entry + 1], in_lane = in_lanes,
    }
  end
  return followers
end

-- Checks everything that may be refused, except the right to RPUSH: that cannot be checked without pushing something.
local function check_followers(turn, followers)
  for _, follower in ipairs(followers) do
    local due, queue = due_at(turn.moment, follower.delay), follower.queue
    if follower.in_lane then
      call('HDEL', turn.lanes, nobody())
      ask_to_remove(turn.held)
    end
    if due <= turn.moment then
      call('LLEN', queue.ready)
    else
      -- A microsecond apart, so that followers in order with one delay become ready in that order.
      turn.follows = (turn.follows or 0) + 1
      follower.due = due + turn.follows - 1
      call('ZADD', queue.delayed, 'XX', 0, nobody())
      follower.is_first = comes_first(queue, follower.due)
    end
  end
end

-- Ready followers go first: if RPUSH is refused, nothing was written.
local function write_followers(turn, followers)
  for _, follower in ipairs(followers) do
    if not follower.due and follower.in_lane then
      need('make_ready')(turn, follower.queue, { follower.text })
    elseif not follower.due then
      call('RPUSH', follower.queue.ready, follower.text)
      follower.queue.filled = true
    end
  end
  for _, follower in ipairs(followers) do
    local due = follower.due
    if due then make_wait(turn, follower.queue, due, follower.text, follower.is_first) end
    -- From now on, its queue has lanes.
    if due and follower.in_lane then need('make_ready')(turn, follower.queue, {}) end
  end
end
