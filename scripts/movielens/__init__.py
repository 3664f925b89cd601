"""What the generator of the movielens sample is made of: chance, movies, people, their visits, and the figures."""
