-- The one table of events and three views on it. ${DATA} is a folder that the generator wrote.
CREATE TABLE events (
    event_type INT,
    `dateTime` TIMESTAMP(3),
    p_id BIGINT, p_name STRING, p_emailAddress STRING, p_creditCard STRING, p_city STRING,
    p_state STRING, p_extra STRING,
    a_id BIGINT, a_itemName STRING, a_description STRING, a_initialBid BIGINT, a_reserve BIGINT,
    a_expires TIMESTAMP(3), a_seller BIGINT, a_category BIGINT, a_extra STRING,
    b_auction BIGINT, b_bidder BIGINT, b_price BIGINT, b_channel STRING, b_url STRING,
    b_extra STRING,
    WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH (
    'connector' = 'filesystem',
    'path' = '${DATA}/csv',
    'format' = 'csv',
    'csv.null-literal' = ''
);

CREATE VIEW person AS
SELECT p_id AS id, p_name AS name, p_emailAddress AS emailAddress, p_creditCard AS creditCard,
       p_city AS city, p_state AS state, `dateTime`, p_extra AS extra
FROM events WHERE event_type = 0;

CREATE VIEW auction AS
SELECT a_id AS id, a_itemName AS itemName, a_description AS description,
       a_initialBid AS initialBid, a_reserve AS reserve, `dateTime`, a_expires AS expires,
       a_seller AS seller, a_category AS category, a_extra AS extra
FROM events WHERE event_type = 1;

CREATE VIEW bid AS
SELECT b_auction AS auction, b_bidder AS bidder, b_price AS price, b_channel AS channel,
       b_url AS url, `dateTime`, b_extra AS extra
FROM events WHERE event_type = 2;

CREATE TABLE side_input (
    key BIGINT,
    `value` STRING
) WITH (
    'connector' = 'filesystem',
    'path' = '${DATA}/side_input.csv',
    'format' = 'csv'
);
